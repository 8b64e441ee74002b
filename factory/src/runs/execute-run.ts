import type { FailureCause } from "@harnais/contracts/statuses.ts";
import type { Run } from "@harnais/contracts/workflow.ts";
import { messageOf } from "../lib/errors.ts";
import { bindWorkSteps } from "./bind-work-steps.ts";
import type { ExecuteDeps } from "./execute-deps.ts";
import { createRunContext } from "./run-context.ts";
import { JournalUnwritable, LeaseLost, PhaseFailure, RunCancelled } from "./run-failures.ts";
import { openRunRecorder } from "./run-recorder.ts";
import type { RunState } from "./run-state.ts";
import { getRun, type Lease, type RunRow, updateRun } from "./run.sql.ts";
import type { WorkProject } from "./workbench.ts";

interface RunEnd {
  readonly status: "done" | "failed" | "cancelled";
  readonly cause: FailureCause | null;
  readonly reason: string | null;
  readonly text?: string;
}

/** Carries out one leased run to its end and records it. Rejects only with LeaseLost (nothing more may be written). */
export async function executeRun(lease: Lease, deps: ExecuteDeps, signal: AbortSignal): Promise<void> {
  const row = await getRun(deps.db, lease.runId);
  if (row === undefined) throw new LeaseLost(`run ${lease.runId} is gone`);
  const project = await deps.findProject(row.projectId);
  const startedAt = performance.now();
  let state: RunState | undefined;
  const recorder = await openRunRecorder(
    { db: deps.db, tracesDir: deps.tracesDir, feed: deps.feed },
    { runId: row.runId, lease, cwd: () => state?.cwd ?? project.repo },
  );
  try {
    state = createState(row, { lease, project, recorder, signal, defaultModel: deps.defaultModel });
    const end = await runToEnd(state, project, deps);
    await closeRun(state, project, deps);
    await finish(state, end, Math.round(performance.now() - startedAt));
    if (end.text !== undefined) await updateRun(deps.db, lease, { resultText: end.text });
  } finally {
    recorder.close();
  }
}

function createState(
  row: RunRow,
  {
    lease,
    project,
    recorder,
    signal,
    defaultModel,
  }: {
    lease: Lease;
    project: Awaited<ReturnType<ExecuteDeps["findProject"]>>;
    recorder: RunState["recorder"];
    signal: AbortSignal;
    defaultModel: string;
  },
): RunState {
  return {
    lease,
    row,
    project,
    harness: row.agent ?? project.agent,
    model: row.model ?? project.model ?? defaultModel,
    recorder,
    signal,
    cwd: project.repo,
    baseSha: undefined,
    phaseCount: 0,
    results: {},
    sessions: {},
    agentPhases: new Map(),
    callNumbers: new Map(),
    currentPhase: undefined,
    note: undefined,
  };
}

const REQUEST_HEAD_CHARS = 500;
const REHEARSAL_PROVIDER = "rehearsal/";

async function runToEnd(state: RunState, project: WorkProject, deps: ExecuteDeps): Promise<RunEnd> {
  const { row } = state;
  try {
    await state.recorder.record({
      type: "run_start",
      phaseId: null,
      name: row.workflow,
      payload: {
        adw_name: row.workflow,
        request: row.input.slice(0, REQUEST_HEAD_CHARS),
        project: project.id,
        request_id: row.requestId,
        level: "none",
        rehearsal: state.model.startsWith(REHEARSAL_PROVIDER),
      },
    });
    const steps = bindWorkSteps(state, project, deps);
    const workflow = await deps.loadWorkflow(row.workflow, project, { steps, sha: row.workflowSha });
    const run: Run = createRunContext(state, deps);
    const result = await workflow(run);
    if (state.currentPhase !== undefined) throw new Error(`the workflow returned while phase ${state.currentPhase} runs: await each phase`);
    return { status: "done", cause: null, reason: null, ...(typeof result === "string" ? { text: result } : {}) };
  } catch (error) {
    return toRunEnd(error, state, deps);
  }
}

function toRunEnd(error: unknown, state: RunState, { log }: ExecuteDeps): RunEnd {
  if (error instanceof LeaseLost) throw error;
  if (error instanceof RunCancelled || state.signal.aborted) {
    const reason = error instanceof RunCancelled ? error : state.signal.reason;
    if (reason instanceof LeaseLost) throw reason;
    return { status: "cancelled", cause: "cancelled", reason: messageOf(reason) };
  }
  if (error instanceof PhaseFailure) return { status: "failed", cause: error.failureCause, reason: error.message };
  if (error instanceof JournalUnwritable) return { status: "failed", cause: "storage", reason: error.message };
  log.error({ err: error, runId: state.row.runId }, "workflow stopped by an error");
  return { status: "failed", cause: "workflow", reason: messageOf(error) };
}

/** Rights, worktree and bills of a run that is about to end. */
async function closeRun(state: RunState, project: WorkProject, deps: ExecuteDeps): Promise<void> {
  deps.revokeRun(state.row.runId);
  if (state.cwd !== project.repo) await deps.workbench.close(project, state.cwd);
  await deps.mirrorRun(state.row.runId);
}

async function finish(state: RunState, end: RunEnd, durationMs: number): Promise<void> {
  const { folded } = state.recorder;
  const record = state.recorder.record({
    type: "run_finish",
    phaseId: null,
    name: state.row.workflow,
    payload: {
      ok: end.status === "done",
      status: end.status,
      cause: end.cause,
      cost_usd: folded?.costUsd ?? null,
      cost_complete: folded?.costComplete ?? false,
      tokens: folded?.tokens ?? null,
      duration_ms: durationMs,
      reason: end.reason,
    },
  });
  // The database has the end; the file gets the line at the next opening.
  await record.catch((error: unknown) => {
    if (!(error instanceof JournalUnwritable)) throw error;
  });
}
