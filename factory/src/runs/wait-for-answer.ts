import type { RunId } from "@harnais/contracts/ids.ts";
import type { LiveRuns } from "./run-service.ts";

/** Waits for the answer to a run's question; one answer is taken. Rejects with the abort reason. */
export async function waitForAnswer({ answers }: LiveRuns, runId: RunId, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  answers.set(runId, resolve);
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", abort);
    if (answers.get(runId) === resolve) answers.delete(runId);
  }
}
