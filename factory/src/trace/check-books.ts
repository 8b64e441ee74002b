import { auditJournals } from "./audit-journals.ts";
import { checkRun, type RunCheck } from "./check-run.ts";
import { loadRun, type TraceSource } from "./load-run.ts";
import type { Mirror } from "./mirror-schema.sql.ts";
import { requireRun } from "./require-run.ts";
import type { RunTrace } from "./run-trace.ts";

export interface CheckOptions {
  readonly dataDir: string;
  /** Up to date with the raw files of `dataDir`. */
  readonly mirror: Mirror;
  readonly source: TraceSource;
  readonly runIds: readonly string[];
}

/** Compares the three books of runs, and their raw files with the mirror. @throws not-found for a run that no journal knows */
export async function checkBooks({ dataDir, mirror, source, runIds }: CheckOptions): Promise<readonly RunCheck[]> {
  const runs: RunTrace[] = [];
  for (const runId of runIds) runs.push(requireRun(await loadRun(source, runId), runId));
  const audit = auditJournals({ dataDir, mirror, runs });
  return runs.map((run) => {
    const check = checkRun(run);
    return { ...check, findings: [...check.findings, ...(audit.get(run.runId) ?? [])] };
  });
}
