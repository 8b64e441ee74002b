import type { RunnerLine } from "@harnais/contracts/journal-line.ts";
import { sql } from "kysely";
import type { Db } from "../db/tables.ts";
import { BILL_COLUMNS, type BillRecord } from "./bill-columns.ts";
import type { TraceEvent } from "./run-trace.ts";

/** Ids of the runs, the newest first. */
export async function listRunIds(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom("runs")
    .select("runId")
    .orderBy("startedAt", (order) => order.desc().nullsLast())
    .orderBy("createdAt", "desc")
    .limit(limit)
    .execute();
  return rows.map((row) => row.runId);
}

/** Events of one run in their order. */
export async function listRunnerLines(db: Db, runId: string): Promise<RunnerLine[]> {
  const rows = await db
    .selectFrom("events")
    .select(["eventId", "phaseId", "type", "name", "payloadJson", "ts"])
    .where("runId", "=", runId)
    .orderBy("seq")
    .execute();
  return rows.map((row) => ({
    event_id: row.eventId,
    ts: row.ts,
    run_id: runId,
    phase_id: row.phaseId,
    type: row.type,
    name: row.name,
    payload: JSON.parse(row.payloadJson) as Record<string, unknown>,
  }));
}

/** Lines of sessions, each in the order of its journal. */
export async function listSessionEvents(db: Db, sessionIds: readonly string[]): Promise<TraceEvent[]> {
  if (sessionIds.length === 0) return [];
  // One value instead of a row per line: on the embedded base a row costs more to carry than to find.
  const { rows } = await sql<{ lines: string | null }>`
    select json_agg(json_build_array(event_id, session_id, type, name, payload_json,
      to_char(ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by session_id, line_no, ts)::text as lines
    from harness_events where session_id in (${sql.join(sessionIds)})`.execute(db);
  const lines = JSON.parse(rows[0]?.lines ?? "[]") as [string, string, string, string | null, string, string][];
  return lines.map(([eventId, sessionId, type, name, payloadJson, ts]) => ({
    ...{ eventId, sessionId, type, name, ts },
    payload: JSON.parse(payloadJson) as Record<string, unknown>,
  }));
}

/** Bills of one run in the order in which its calls began, by column name. */
export async function listRunBills(db: Db, runId: string): Promise<BillRecord[]> {
  const { rows } = await sql<BillRecord>`
    select ${sql.raw(BILL_COLUMNS.join(", "))} from llm_calls where run_id = ${runId} order by started_at, job_id, seq`.execute(db);
  return rows.map((row) => Object.fromEntries(BILL_COLUMNS.map((column) => [column, row[toCamelCase(column)] ?? null])));
}

const toCamelCase = (column: string): string => column.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
