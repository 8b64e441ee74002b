import type { Logger } from "pino";
import type { ExecuteDeps } from "./execute-deps.ts";
import { openRunRecorder, type RunRecorder } from "./run-recorder.ts";
import { phaseEvent } from "./run-state.ts";
import { getRun, type Lease, leaseAbandonedRuns, releaseLease } from "./run.sql.ts";

const LEASE_MS = 15_000;
const REASON = "the factory stopped while this run was live";

export interface RecoverOptions {
  readonly owner: string;
  /** True: no other process can hold a lease on this base. */
  readonly isSoleProcess: boolean;
  /** Ends every process of a session. */
  sweep(sessionId: string): Promise<number>;
  readonly log: Logger;
}

/**
 * Ends runs that a crash left behind: their agents are swept, the open attempt is `interrupted`, the run `failed` with
 * cause `crashed`, its worktree removed. (Going on where they stood is a later step.)
 */
export async function recoverRuns(deps: ExecuteDeps, { owner, isSoleProcess, sweep, log }: RecoverOptions): Promise<number> {
  const leases = await leaseAbandonedRuns(deps.db, { owner, leaseMs: LEASE_MS, isSoleProcess });
  for (const lease of leases) {
    await recoverRun(lease, deps, sweep).catch((error: unknown) => log.error({ err: error, runId: lease.runId }, "run not recovered"));
    await releaseLease(deps.db, lease);
  }
  return leases.length;
}

async function recoverRun(lease: Lease, deps: ExecuteDeps, sweep: (sessionId: string) => Promise<number>): Promise<void> {
  const row = await getRun(deps.db, lease.runId);
  if (row === undefined) return;
  const project = await deps.findProject(row.projectId);
  const recorder = await openRunRecorder(
    { db: deps.db, tracesDir: deps.tracesDir, feed: deps.feed },
    { runId: row.runId, lease, cwd: () => row.worktree ?? project.repo },
  );
  try {
    for (const phase of recorder.folded?.phases ?? []) {
      for (const session of phase.sessions) await sweep(session.sessionId);
    }
    if (row.worktree !== null) await deps.workbench.close(project, row.worktree);
    await deps.mirrorRun(row.runId);
    await endOpenPhases(recorder);
    const { folded } = recorder;
    await recorder.record({
      type: "run_finish",
      phaseId: null,
      name: row.workflow,
      payload: {
        ok: false,
        status: "failed",
        cause: "crashed",
        cost_usd: folded?.costUsd ?? null,
        cost_complete: folded?.costComplete ?? false,
        tokens: folded?.tokens ?? null,
        duration_ms: null,
        reason: REASON,
      },
    });
  } finally {
    recorder.close();
  }
}

async function endOpenPhases(recorder: RunRecorder): Promise<void> {
  for (const phase of recorder.folded?.phases ?? []) {
    if (phase.status !== "running") continue;
    const open = phase.attempts.find((attempt) => attempt.status === "running");
    const money = { cost_usd: null, cost_complete: phase.kind === "code", tokens: null };
    if (open !== undefined) {
      await recorder.record(
        phaseEvent(phase.phaseId, phase.name, "phase_attempt", {
          attempt: open.attempt,
          ok: false,
          status: "interrupted",
          cause: "crashed",
          error: REASON,
          duration_ms: null,
          ...money,
          label: open.label,
          calls: [],
        }),
      );
    }
    await recorder.record(
      phaseEvent(phase.phaseId, phase.name, "phase_end", {
        status: "interrupted",
        attempts: phase.attempts.length,
        cost_usd: phase.costUsd,
        cost_complete: false,
        tokens: phase.tokens,
      }),
    );
  }
}
