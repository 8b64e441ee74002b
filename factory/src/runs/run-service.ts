import type { CreateRun } from "@harnais/contracts/api-bodies.ts";
import { createRunId, type RunId } from "@harnais/contracts/ids.ts";
import type { RunReport } from "@harnais/contracts/run-report.ts";
import { type FailureCause, isFinalRunStatus, type RunStatus } from "@harnais/contracts/statuses.ts";
import { FactoryError } from "../lib/errors.ts";
import { listRunEvents } from "./event.sql.ts";
import { foldRun } from "./fold-run.ts";
import { JournalUnwritable, RunCancelled } from "./run-failures.ts";
import { queueRun } from "./queue-run.ts";
import { openRunRecorder, type RecorderDeps } from "./run-recorder.ts";
import { type Activity, toRunReport } from "./run-report.ts";
import { getRun, leaseRun, listRuns, releaseLease } from "./run.sql.ts";
import type { WorkflowCatalog } from "./workflow-catalog.ts";
import type { WorkProject } from "./workbench.ts";

/** What live runs of this process can be told; run-worker.ts fills it. */
export interface LiveRuns {
  readonly controllers: Map<RunId, AbortController>;
  readonly answers: Map<RunId, (text: string) => void>;
}

export interface RunService {
  /** Stores a queued run. @throws unknown-workflow, empty-workflow, bad-workflow, untrusted-workflow, conflict (a live run for the request) */
  create(run: Omit<CreateRun, "project"> & { readonly project: WorkProject; readonly requestId?: string }): Promise<RunId>;
  /** @throws not-found */
  report(runId: RunId): Promise<RunReport>;
  list(query: {
    after?: RunId;
    limit: number;
    status?: RunStatus;
    projectId?: string;
  }): Promise<{ items: RunReport[]; next: string | null }>;
  /** Ends a run: a queued one at once, a live one by the kill ladder. A finished one stays as it is. @throws not-found, conflict (another process holds it) */
  cancel(runId: RunId, reason?: string): Promise<void>;
  /** @throws not-found, conflict unless the run waits */
  answer(runId: RunId, text: string): Promise<void>;
}

export interface RunServiceDeps extends RecorderDeps {
  readonly workflows: WorkflowCatalog;
  readonly live: LiveRuns;
  /** What the harness traces count of the run's attempts. */
  countActivity(runId: RunId): Promise<Activity>;
  /** Takes secrets that the factory knows out of what was asked. */
  redactText(text: string): string;
  journalBehind(runId: RunId): void;
  /** This process as holder of leases. */
  readonly owner: string;
  /** Tells the worker that a run waits. */
  announce(runId: RunId): void;
}

export function createRunService(deps: RunServiceDeps): RunService {
  return {
    async create({ workflow, input, project, agent, model, requestId }) {
      const workflowSha = await deps.workflows.check(workflow, project);
      const runId = createRunId();
      const queued = { runId, requestId: requestId ?? null, projectId: project.id, workflow, workflowSha, input: deps.redactText(input) };
      try {
        await queueRun(deps, { ...queued, agent: agent ?? null, model: model ?? null });
      } catch (error) {
        // A run whose journal cannot be written must not wait in the queue.
        if (error instanceof JournalUnwritable)
          await endUnstarted(deps, runId, { status: "failed", cause: "storage", reason: error.message });
        throw error;
      }
      deps.announce(runId);
      return runId;
    },
    async report(runId) {
      const row = await getRun(deps.db, runId);
      if (row === undefined) throw noRun(runId);
      return toRunReport(row, foldRun(await listRunEvents(deps.db, runId)), await deps.countActivity(runId));
    },
    async list({ limit, ...query }) {
      const rows = await listRuns(deps.db, { ...query, limit: limit + 1 });
      const items = rows.slice(0, limit).map((row) => toRunReport(row, undefined));
      return { items, next: rows.length > limit ? (items.at(-1)?.runId ?? null) : null };
    },
    cancel: (runId, reason) => cancelRun(deps, runId, reason ?? "cancelled by the operator"),
    async answer(runId, text) {
      const row = await getRun(deps.db, runId);
      if (row === undefined) throw noRun(runId);
      const give = deps.live.answers.get(runId);
      if (row.status !== "waiting" || give === undefined)
        throw new FactoryError("conflict", `run ${runId} is ${row.status}: it waits for no answer`);
      // Given once: a second answer finds nobody who waits.
      deps.live.answers.delete(runId);
      give(text);
    },
  };
}

const noRun = (runId: string): FactoryError => new FactoryError("not-found", `no run ${runId}`);
const UNSTARTED_LEASE_MS = 15_000;

async function cancelRun(deps: RunServiceDeps, runId: RunId, reason: string): Promise<void> {
  const row = await getRun(deps.db, runId);
  if (row === undefined) throw noRun(runId);
  if (isFinalRunStatus(row.status)) return;
  if (abortLive(deps, runId, reason)) return;
  if (await endUnstarted(deps, runId, { status: "cancelled", cause: "cancelled", reason })) return;
  // Between the look and the lease our own worker may have taken it, or it has ended.
  if (abortLive(deps, runId, reason)) return;
  const now = await getRun(deps.db, runId);
  if (now !== undefined && isFinalRunStatus(now.status)) return;
  throw new FactoryError("conflict", `run ${runId} is carried out by another process: cancel it there`);
}

function abortLive({ live }: RunServiceDeps, runId: RunId, reason: string): boolean {
  const controller = live.controllers.get(runId);
  controller?.abort(new RunCancelled(reason));
  return controller !== undefined;
}

/** Ends a run that no worker has taken: it has spent nothing. False when one has. */
async function endUnstarted(
  deps: RunServiceDeps,
  runId: RunId,
  end: { status: "failed" | "cancelled"; cause: FailureCause; reason: string },
): Promise<boolean> {
  const lease = await leaseRun(deps.db, { runId, owner: `${deps.owner}/end`, leaseMs: UNSTARTED_LEASE_MS });
  if (lease === undefined) return false;
  const recorder = await openRunRecorder(deps, { lease, cwd: () => "" });
  const nothing = { cost_usd: 0, cost_complete: true, tokens: 0, duration_ms: 0 };
  try {
    await recorder.record({
      type: "run_finish",
      phaseId: null,
      name: recorder.folded?.workflow ?? "",
      payload: { ok: false, ...nothing, ...end },
    });
  } catch (error) {
    if (!(error instanceof JournalUnwritable)) throw error;
    deps.journalBehind(runId);
  } finally {
    recorder.close();
  }
  await releaseLease(deps.db, lease);
  return true;
}
