import type { RunId } from "@harnais/contracts/ids.ts";
import type { RunnerLine } from "@harnais/contracts/journal-line.ts";
import { sql } from "kysely";
import type { Db } from "../db/tables.ts";
import type { FoldedAttempt, FoldedPhase, FoldedRun } from "./fold-run.ts";
import type { Lease } from "./run.sql.ts";

/** Any fixed number: one lock orders all events, so that a reader of "seq > n" never skips a late commit. */
const EVENT_LOCK = 460_001;

export interface StoredEvent extends RunnerLine {
  readonly seq: number;
}

/** An event that belongs to no run (a request's change of state). */
export interface LooseEvent {
  readonly event_id: string;
  readonly ts: string;
  readonly type: string;
  readonly name: string | null;
  readonly payload: Record<string, unknown>;
}

/** Takes the next place in the order of events. To be called in a transaction, as late as can be. */
export async function insertEvent(trx: Db, line: RunnerLine | LooseEvent): Promise<number> {
  await sql`select pg_advisory_xact_lock(${EVENT_LOCK})`.execute(trx);
  const row = await trx
    .insertInto("events")
    .values({
      seq: sql<number>`(select coalesce(max(seq), 0) + 1 from events)`,
      eventId: line.event_id,
      runId: "run_id" in line ? line.run_id : null,
      phaseId: "run_id" in line ? line.phase_id : null,
      type: line.type,
      name: line.name,
      payloadJson: JSON.stringify(line.payload),
      ts: line.ts,
    })
    .returning("seq")
    .executeTakeFirstOrThrow();
  return row.seq;
}

/** True when the lease is still ours; locks the row until the transaction ends. */
export async function holdsLease(trx: Db, lease: Lease): Promise<boolean> {
  const row = await trx
    .selectFrom("runs")
    .select("runId")
    .where("runId", "=", lease.runId)
    .where("leaseOwner", "=", lease.owner)
    .where("fence", "=", lease.fence)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

export async function listRunEvents(db: Db, runId: RunId): Promise<StoredEvent[]> {
  const rows = await db.selectFrom("events").select(EVENT_COLUMNS).where("runId", "=", runId).orderBy("seq").execute();
  return rows.map(toStoredEvent);
}

/** Events after `seq`, oldest first; of one run when `runId` is given. */
export async function listEventsAfter(
  db: Db,
  { seq, runId, limit }: { seq: number; runId?: RunId; limit: number },
): Promise<StoredEvent[]> {
  let query = db.selectFrom("events").select(EVENT_COLUMNS).where("seq", ">", seq).orderBy("seq").limit(limit);
  if (runId !== undefined) query = query.where("runId", "=", runId);
  return (await query.execute()).map(toStoredEvent);
}

/** The `run_finish` events of the newest finished runs. */
export async function listFinishedEvents(db: Db, limit: number): Promise<{ runId: RunId; eventId: string }[]> {
  const rows = await db
    .selectFrom("events")
    .select(["runId", "eventId"])
    .where("type", "=", "run_finish")
    .where("runId", "is not", null)
    .orderBy("seq", "desc")
    .limit(limit)
    .execute();
  return rows.flatMap(({ runId, eventId }) => (runId === null ? [] : [{ runId, eventId }]));
}

/** The newest place taken; 0 when there is no event. */
export async function lastSeq(db: Db): Promise<number> {
  const row = await db
    .selectFrom("events")
    .select((eb) => eb.fn.max("seq").as("seq"))
    .executeTakeFirst();
  return row?.seq ?? 0;
}

const EVENT_COLUMNS = ["seq", "eventId", "runId", "phaseId", "type", "name", "payloadJson", "ts"] as const;

function toStoredEvent(row: {
  seq: number;
  eventId: string;
  runId: string | null;
  phaseId: string | null;
  type: string;
  name: string | null;
  payloadJson: string;
  ts: string;
}): StoredEvent {
  return {
    seq: row.seq,
    event_id: row.eventId,
    ts: row.ts,
    run_id: row.runId ?? "",
    phase_id: row.phaseId,
    type: row.type,
    name: row.name,
    payload: JSON.parse(row.payloadJson) as Record<string, unknown>,
  };
}

/** Writes the run's row as its events have it. */
export async function saveRunRow(trx: Db, run: FoldedRun): Promise<void> {
  await trx
    .updateTable("runs")
    .set({
      status: run.status,
      level: run.level,
      rehearsal: run.rehearsal,
      cause: run.cause,
      reason: run.reason,
      question: run.question,
      costUsd: run.costUsd,
      costComplete: run.costComplete,
      tokens: run.tokens,
      startedAt: run.startedAt,
      finishedAt: run.finishedAt,
    })
    .where("runId", "=", run.runId)
    .execute();
}

/** Writes a phase's row as its events have it, and the sessions it opened. */
export async function savePhaseRow(trx: Db, { run, phase, cwd }: { run: FoldedRun; phase: FoldedPhase; cwd: string }): Promise<void> {
  const changing = {
    status: phase.status,
    attempts: phase.attempts.length,
    costUsd: phase.costUsd,
    costComplete: phase.costComplete,
    tokens: phase.tokens,
    finishedAt: phase.finishedAt,
  };
  await trx
    .insertInto("phases")
    .values({
      phaseId: phase.phaseId,
      runId: run.runId,
      seq: phase.seq,
      name: phase.name,
      callNo: phase.callNo,
      kind: phase.kind,
      retries: phase.retries,
      onInterrupt: null,
      resultJson: null,
      startedAt: phase.startedAt,
      ...changing,
    })
    .onConflict((oc) => oc.column("phaseId").doUpdateSet(changing))
    .execute();
  const session = phase.sessions.at(-1);
  if (session === undefined) return;
  const owner = await trx
    .insertInto("sessions")
    .values({ sessionId: session.sessionId, phaseId: phase.phaseId, harness: session.harness, cwd })
    // The no-change update gives the row back, whoever made it.
    .onConflict((oc) => oc.column("sessionId").doUpdateSet((eb) => ({ phaseId: eb.ref("sessions.phaseId") })))
    .returning("phaseId")
    .executeTakeFirstOrThrow();
  if (owner.phaseId !== phase.phaseId)
    throw new Error(`session ${session.sessionId} belongs to phase ${owner.phaseId}, not to ${phase.phaseId}`);
}

/** Writes an attempt's row as its events have it. */
export async function saveAttemptRow(trx: Db, phaseId: string, attempt: FoldedAttempt): Promise<void> {
  const changing = {
    status: attempt.status,
    cause: attempt.cause,
    reason: attempt.reason,
    durationMs: attempt.durationMs,
    costUsd: attempt.costUsd,
    costComplete: attempt.costComplete,
    tokens: attempt.tokens,
    checkpoint: attempt.checkpoint,
  };
  await trx
    .insertInto("attempts")
    .values({
      phaseId,
      attempt: attempt.attempt,
      sessionId: attempt.sessionId,
      label: attempt.label,
      pid: null,
      pidStarted: null,
      startedAt: attempt.startedAt,
      ...changing,
    })
    .onConflict((oc) => oc.columns(["phaseId", "attempt"]).doUpdateSet(changing))
    .execute();
}

/** The process of an attempt, stored the moment it is known. False: the lease is not ours any more. */
export async function saveAttemptProcess(
  db: Db,
  lease: Lease,
  attempt: { phaseId: string; attempt: number; pid: number; pidStarted: string | null },
): Promise<boolean> {
  const row = await db
    .updateTable("attempts")
    .set({ pid: attempt.pid, pidStarted: attempt.pidStarted })
    .where("phaseId", "=", attempt.phaseId)
    .where("attempt", "=", attempt.attempt)
    .where((eb) => eb.exists(heldRun(db, lease)))
    .returning("phaseId")
    .executeTakeFirst();
  return row !== undefined;
}

/** What is stored of a phase beside its events: its result as JSON text, how an interruption is treated. False: the lease is not ours any more. */
export async function savePhaseFacts(
  db: Db,
  lease: Lease,
  { phaseId, ...facts }: { phaseId: string; resultJson?: string; onInterrupt?: string },
): Promise<boolean> {
  const row = await db
    .updateTable("phases")
    .set(facts)
    .where("phaseId", "=", phaseId)
    .where((eb) => eb.exists(heldRun(db, lease)))
    .returning("phaseId")
    .executeTakeFirst();
  return row !== undefined;
}

const heldRun = (db: Db, { runId, owner, fence }: Lease) =>
  db
    .selectFrom("runs")
    .select("runs.runId")
    .where("runs.runId", "=", runId)
    .where("runs.leaseOwner", "=", owner)
    .where("runs.fence", "=", fence);
