import { once, EventEmitter } from "node:events";

const SETTLE_MS = 5000;

interface RunningCall {
  abort(outcome: "client-abort" | "proxy-killed"): void;
}

/** The calls that are up, by run. */
export interface RunningCalls {
  /** Returns what takes the call out again. */
  add(runId: string, call: RunningCall): () => void;
  /** Ends every call of the run. */
  abortRun(runId: string): void;
  abortAll(): void;
  /** Resolves when the run has no call up, at the latest after 5 s: false then. */
  settled(runId: string): Promise<boolean>;
}

export function createRunningCalls(settleMs: number = SETTLE_MS): RunningCalls {
  const byRun = new Map<string, Set<RunningCall>>();
  const settling = new EventEmitter({ captureRejections: false }).setMaxListeners(0);
  return {
    add(runId, call) {
      const calls = byRun.get(runId) ?? new Set();
      byRun.set(runId, calls.add(call));
      return () => {
        calls.delete(call);
        if (calls.size > 0 || byRun.get(runId) !== calls) return;
        byRun.delete(runId);
        settling.emit(runId);
      };
    },
    abortRun(runId) {
      for (const call of byRun.get(runId) ?? []) call.abort("client-abort");
    },
    abortAll() {
      for (const calls of byRun.values()) for (const call of calls) call.abort("proxy-killed");
    },
    async settled(runId) {
      if (!byRun.has(runId)) return true;
      await once(settling, runId, { signal: AbortSignal.timeout(settleMs) }).catch(() => undefined);
      return !byRun.has(runId);
    },
  };
}
