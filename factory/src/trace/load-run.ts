import type { RunnerLine } from "@harnais/contracts/journal-line.ts";
import { type FoldedPhase, foldRun } from "../runs/fold-run.ts";
import type { BillRecord } from "./bill-columns.ts";
import type { RunTrace, TraceBill, TraceEvent, TracePhase } from "./run-trace.ts";

/** Where a run's three books are read from: the SQLite mirror or PostgreSQL. */
export interface TraceSource {
  /** Ids of the runs, the newest first. */
  listRunIds(limit: number): Promise<readonly string[]>;
  /** The run's events in their order. */
  readRunnerLines(runId: string): Promise<readonly RunnerLine[]>;
  /** The harness lines of sessions, each in the order of its journal. */
  readSessions(sessionIds: readonly string[]): Promise<readonly TraceEvent[]>;
  /** The run's bills in the order in which its calls began; `is_opened` tells whether an opening line is known. */
  readBills(runId: string): Promise<readonly BillRecord[]>;
}

/** One run as its three books; undefined when the source knows no event of it. */
export async function loadRun(source: TraceSource, runId: string): Promise<RunTrace | undefined> {
  const run = foldRun(await source.readRunnerLines(runId));
  if (run === undefined) return undefined;
  const bills = (await source.readBills(runId)).map(toTraceBill);
  const lines = Map.groupBy(
    await source.readSessions(run.phases.flatMap((phase) => phase.sessions.map((session) => session.sessionId))),
    (line) => line.sessionId,
  );
  const phases = run.phases.map((phase) =>
    toTracePhase(phase, {
      harness: phase.sessions.flatMap((session) => lines.get(session.sessionId) ?? []),
      bills: bills.filter((bill) => bill.phase_id === phase.phaseId),
    }),
  );
  const known = new Set(phases.map((phase) => phase.phaseId));
  return {
    runId: run.runId,
    workflow: run.workflow,
    request: run.request,
    status: run.status,
    rehearsal: run.rehearsal,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    costUsd: run.costUsd,
    costComplete: run.costComplete,
    tokens: run.tokens,
    phases,
    strayBills: bills.filter((bill) => bill.phase_id === null || !known.has(bill.phase_id)),
  };
}

function toTracePhase(phase: FoldedPhase, books: Pick<TracePhase, "harness" | "bills">): TracePhase {
  return {
    phaseId: phase.phaseId,
    seq: phase.seq,
    name: phase.name,
    kind: phase.kind,
    status: phase.status,
    retries: phase.retries,
    sessions: phase.sessions.map((session) => session.sessionId),
    attempts: phase.attempts.map(({ reason, checkpoint: _checkpoint, startedAt: _startedAt, ...attempt }) => ({
      ...attempt,
      error: reason,
    })),
    costUsd: phase.costUsd,
    costComplete: phase.costComplete,
    tokens: phase.tokens,
    ...books,
  };
}

function toTraceBill({ is_opened: isOpened, ...bill }: BillRecord): TraceBill {
  return { ...(bill as unknown as Omit<TraceBill, "isOpened">), stream: Boolean(bill["stream"]), isOpened: Boolean(isOpened) };
}
