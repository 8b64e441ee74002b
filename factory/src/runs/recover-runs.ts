import type { Logger } from "pino";
import { endOpenPhases } from "./end-open-phases.ts";
import type { ExecuteDeps } from "./execute-deps.ts";
import { JournalUnwritable } from "./run-failures.ts";
import { openRunRecorder } from "./run-recorder.ts";
import { getRun, type Lease, leaseAbandonedRuns, releaseLease, requeueRun } from "./run.sql.ts";

const LEASE_MS = 15_000;
const REASON = "the factory stopped while this run was live";

export interface RecoverOptions {
  readonly owner: string;
  /** True: no other process can hold a lease on this base. */
  readonly isSoleProcess: boolean;
  /** Runs that this process carries out at this moment. */
  isLive(runId: string): boolean;
  /** Ends every process of a run: its agents' sessions and its validation. */
  sweep(mark: { readonly runId: string; readonly sessionIds: readonly string[] }): Promise<void>;
  readonly log: Logger;
}

/**
 * Ends runs that a crash left behind: their processes are swept, the open attempt is `interrupted`, the run `failed` with
 * cause `crashed`, its worktree removed. A run that was leased but never started goes back into the queue.
 */
export async function recoverRuns(deps: ExecuteDeps, { owner, isSoleProcess, isLive, sweep, log }: RecoverOptions): Promise<number> {
  const leases = await leaseAbandonedRuns(deps.db, { owner, leaseMs: LEASE_MS, isSoleProcess, isLive });
  for (const lease of leases) {
    await recoverRun(lease, deps, sweep).catch((error: unknown) => log.error({ err: error, runId: lease.runId }, "run not recovered"));
    await releaseLease(deps.db, lease);
  }
  return leases.length;
}

async function recoverRun(lease: Lease, deps: ExecuteDeps, sweep: RecoverOptions["sweep"]): Promise<void> {
  const row = await getRun(deps.db, lease.runId);
  if (row === undefined) return;
  const project = await deps.findProject(row.projectId);
  const recorder = await openRunRecorder(deps, { lease, cwd: () => row.worktree ?? project.repo });
  try {
    const { folded } = recorder;
    if (folded?.startedAt == null) return await requeueRun(deps.db, lease);
    await sweep({ runId: row.runId, sessionIds: folded.phases.flatMap((phase) => phase.sessions.map(({ sessionId }) => sessionId)) });
    if (row.worktree !== null) await deps.workbench.close(project, row.worktree);
    await deps.mirrorRun(row.runId);
    await endOpenPhases(recorder, { cause: "crashed", reason: REASON });
    const { costUsd, tokens } = recorder.folded ?? { costUsd: null, tokens: null };
    const figures = { cost_usd: costUsd, cost_complete: false, tokens, duration_ms: null };
    await recorder
      .record({
        type: "run_finish",
        phaseId: null,
        name: row.workflow,
        payload: { ok: false, status: "failed", cause: "crashed", ...figures, reason: REASON },
      })
      .catch((error: unknown) => {
        if (!(error instanceof JournalUnwritable)) throw error;
      });
  } finally {
    if (recorder.isBehind) deps.journalBehind(row.runId);
    recorder.close();
  }
}
