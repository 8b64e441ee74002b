import type { FailureCause } from "@harnais/contracts/statuses.ts";
import { messageOf } from "../lib/errors.ts";
import { bindWorkSteps } from "./bind-work-steps.ts";
import { endOpenPhases } from "./end-open-phases.ts";
import type { ExecuteDeps } from "./execute-deps.ts";
import { createRunContext, type RunContext } from "./run-context.ts";
import { JournalUnwritable, LeaseLost, PhaseFailure, requireLease, RunCancelled } from "./run-failures.ts";
import { openRunRecorder, type RunRecorder } from "./run-recorder.ts";
import type { RunState } from "./run-state.ts";
import { getRun, type Lease, type RunRow, updateRun } from "./run.sql.ts";
import type { WorkProject } from "./workbench.ts";

type ProjectOfRun = Awaited<ReturnType<ExecuteDeps["findProject"]>>;

interface RunEnd {
  readonly status: "done" | "failed" | "cancelled";
  readonly cause: FailureCause | null;
  readonly reason: string | null;
  readonly text?: string;
}

/**
 * Carries out one leased run to its end and records it. Rejects when the end could not be recorded: with LeaseLost, or
 * with what broke (the run is then still live in the database, and recovery ends it).
 */
export async function executeRun(lease: Lease, deps: ExecuteDeps, signal: AbortSignal): Promise<void> {
  const row = await getRun(deps.db, lease.runId);
  if (row === undefined) throw new LeaseLost(`run ${lease.runId} is gone`);
  const project = await deps.findProject(row.projectId);
  deps.grantRun(row.runId, project);
  const startedAt = performance.now();
  let state: RunState | undefined;
  const recorder = await openRunRecorder(deps, { lease, cwd: () => state?.cwd ?? project.repo });
  const over = new AbortController();
  try {
    state = createState(row, { lease, project, recorder, signal: AbortSignal.any([signal, over.signal]), defaultModel: deps.defaultModel });
    const end = await runToEnd(state, project, { deps, signal, over });
    await closeRun(state, project, deps);
    await endOpenPhases(recorder, { cause: end.cause ?? "workflow", reason: end.reason ?? "the run has ended" });
    if (end.text !== undefined) requireLease(await updateRun(deps.db, lease, { resultText: end.text }), row.runId);
    await finish(state, end, Math.round(performance.now() - startedAt));
  } finally {
    if (recorder.isBehind) deps.journalBehind(row.runId);
    recorder.close();
  }
}

interface StateParts {
  readonly lease: Lease;
  readonly project: ProjectOfRun;
  readonly recorder: RunRecorder;
  readonly signal: AbortSignal;
  readonly defaultModel: string;
}

function createState(row: RunRow, { lease, project, recorder, signal, defaultModel }: StateParts): RunState {
  return {
    lease,
    row,
    project,
    harness: row.agent ?? project.agent,
    model: row.model ?? project.model ?? defaultModel,
    recorder,
    signal,
    failure: undefined,
    cwd: project.repo,
    phaseCount: 0,
    // Keyed by names that a workflow chooses.
    results: Object.create(null) as RunState["results"],
    sessions: Object.create(null) as RunState["sessions"],
    agentPhases: new Map(),
    callNumbers: new Map(),
    currentPhase: undefined,
    note: undefined,
  };
}

const REQUEST_HEAD_CHARS = 500;
const REHEARSAL_PROVIDER = "rehearsal/";

interface LiveRun {
  readonly deps: ExecuteDeps;
  /** Somebody cancels the run. */
  readonly signal: AbortSignal;
  /** The run is over: phases that still run are ended. */
  readonly over: AbortController;
}

async function runToEnd(state: RunState, project: WorkProject, { deps, signal, over }: LiveRun): Promise<RunEnd> {
  let context: RunContext | undefined;
  try {
    await recordStart(state, project);
    const steps = bindWorkSteps(state, project, deps);
    const workflow = await deps.loadWorkflow(state.row.workflow, project, { steps, sha: state.row.workflowSha });
    context = createRunContext(state, deps);
    const result = await workflow(context.run);
    if (context.pending.size > 0) throw new Error(`the workflow returned while phase ${state.currentPhase ?? "?"} runs: await each phase`);
    if (state.failure !== undefined) throw state.failure;
    return { status: "done", cause: null, reason: null, ...(typeof result === "string" ? { text: result } : {}) };
  } catch (error) {
    return toRunEnd(error, state, { deps, signal });
  } finally {
    // A phase that nobody awaited must not outlive its run.
    if (context !== undefined && context.pending.size > 0) {
      over.abort(new RunCancelled("the run ended while this phase ran"));
      await Promise.allSettled(context.pending);
    }
  }
}

async function recordStart({ recorder, row, model }: RunState, project: WorkProject): Promise<void> {
  const payload = {
    adw_name: row.workflow,
    request: row.input.slice(0, REQUEST_HEAD_CHARS),
    project: project.id,
    request_id: row.requestId,
    level: "none" as const,
    rehearsal: model.startsWith(REHEARSAL_PROVIDER),
  };
  await recorder.record({ type: "run_start", phaseId: null, name: row.workflow, payload });
}

function toRunEnd(error: unknown, state: RunState, { deps: { log }, signal }: Pick<LiveRun, "deps" | "signal">): RunEnd {
  if (error instanceof LeaseLost) throw error;
  if (signal.aborted) {
    if (signal.reason instanceof LeaseLost) throw signal.reason;
    return { status: "cancelled", cause: "cancelled", reason: messageOf(signal.reason) };
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
  // The database has the end; the file gets the line when it can be written (complete-journals.ts).
  await record.catch((error: unknown) => {
    if (!(error instanceof JournalUnwritable)) throw error;
  });
}
