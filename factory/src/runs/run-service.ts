import type { CreateRun } from "@harnais/contracts/api-bodies.ts";
import { createRunId, type RunId } from "@harnais/contracts/ids.ts";
import type { RunReport } from "@harnais/contracts/run-report.ts";
import type { RunnerEvent } from "@harnais/contracts/runner-event.ts";
import { type FailureCause, isFinalRunStatus, type RunStatus } from "@harnais/contracts/statuses.ts";
import type { Kysely } from "kysely";
import type { Tables } from "../db/tables.ts";
import { FactoryError } from "../lib/errors.ts";
import { listRunEvents } from "./event.sql.ts";
import type { EventFeed } from "./event-feed.ts";
import { foldRun } from "./fold-run.ts";
import { JournalUnwritable, RunCancelled } from "./run-failures.ts";
import { openRunRecorder } from "./run-recorder.ts";
import { type Activity, toRunReport } from "./run-report.ts";
import { getRun, insertRun, leaseRun, listRuns, releaseLease } from "./run.sql.ts";
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

export interface RunServiceDeps {
  readonly db: Kysely<Tables>;
  readonly tracesDir: string;
  readonly feed: EventFeed;
  readonly workflows: WorkflowCatalog;
  readonly live: LiveRuns;
  /** What the harness traces count of the run's attempts. */
  countActivity(runId: RunId): Promise<Activity>;
  /** Tells the worker that a run waits. */
  announce(runId: RunId): void;
}

export function createRunService(deps: RunServiceDeps): RunService {
  return {
    async create({ workflow, input, project, agent, model, requestId }) {
      const workflowSha = await deps.workflows.check(workflow, project);
      const runId = createRunId();
      await insertRun(deps.db, {
        runId,
        requestId: requestId ?? null,
        projectId: project.id,
        workflow,
        workflowSha,
        input,
        agent: agent ?? null,
        model: model ?? null,
      });
      await recordUnleased(deps, runId, project.repo, async (recorder) => {
        const queued = { workflow, input, project: project.id, request_id: requestId ?? null };
        await recorder.record({ type: "run_queued", phaseId: null, name: workflow, payload: queued }).catch(async (error: unknown) => {
          // A run whose journal cannot be written must not wait in the queue.
          if (error instanceof JournalUnwritable)
            await recorder.record(toUnstarted(workflow, { status: "failed", cause: "storage", reason: error.message }));
          throw error;
        });
      });
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
      give(text);
    },
  };
}

const noRun = (runId: string): FactoryError => new FactoryError("not-found", `no run ${runId}`);
const CANCEL_LEASE_MS = 15_000;

async function cancelRun(deps: RunServiceDeps, runId: RunId, reason: string): Promise<void> {
  const row = await getRun(deps.db, runId);
  if (row === undefined) throw noRun(runId);
  if (isFinalRunStatus(row.status)) return;
  const controller = deps.live.controllers.get(runId);
  if (controller !== undefined) {
    controller.abort(new RunCancelled(reason));
    return;
  }
  const lease = await leaseRun(deps.db, { runId, owner: `cancel-${process.pid}`, leaseMs: CANCEL_LEASE_MS });
  if (lease === undefined) throw new FactoryError("conflict", `run ${runId} is carried out by another process: cancel it there`);
  await recordUnleased(deps, runId, "", async (recorder) => {
    await recorder.record(toUnstarted(row.workflow, { status: "cancelled", cause: "cancelled", reason }));
  });
  await releaseLease(deps.db, lease);
}

/** The end of a run that never started: it has spent nothing. */
function toUnstarted(workflow: string, end: { status: "failed" | "cancelled"; cause: FailureCause; reason: string }): RunnerEvent {
  const nothing = { cost_usd: 0, cost_complete: true, tokens: 0, duration_ms: 0 };
  return { type: "run_finish", phaseId: null, name: workflow, payload: { ok: false, ...nothing, ...end } };
}

/** Events of a run that no worker holds. */
async function recordUnleased(
  deps: RunServiceDeps,
  runId: RunId,
  cwd: string,
  record: (recorder: Awaited<ReturnType<typeof openRunRecorder>>) => Promise<void>,
): Promise<void> {
  const recorder = await openRunRecorder({ db: deps.db, tracesDir: deps.tracesDir, feed: deps.feed }, { runId, cwd: () => cwd });
  try {
    await record(recorder);
  } finally {
    recorder.close();
  }
}
