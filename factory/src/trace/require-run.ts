import { FactoryError } from "../lib/errors.ts";
import type { RunTrace } from "./run-trace.ts";

/** @throws not-found when no journal knows the run. */
export function requireRun(run: RunTrace | undefined, runId: string): RunTrace {
  if (run === undefined)
    throw new FactoryError("not-found", `no run ${runId} in the journals: \`harnais runs\` lists them`, { field: "run_id" });
  return run;
}
