import { type Kysely, sql } from "kysely";
import type { Db, Tables } from "../db/tables.ts";
import { BILL_COLUMNS, type BillRecord, OUTCOME_COLUMNS } from "./bill-columns.ts";
import type { JournalState } from "./read-journal.ts";

/** A harness line with the columns that SQL filters and sums by. */
export interface HarnessColumns {
  readonly eventId: string;
  readonly sessionId: string;
  readonly type: string;
  readonly name: string | null;
  readonly payloadJson: string;
  /** ISO 8601. */
  readonly ts: string;
  readonly lineNo: number;
  readonly turn: number | null;
  readonly toolCallId: string | null;
  readonly tokens: number | null;
  readonly costUsd: number | null;
}

const EVENT_COLUMNS = [
  ["eventId", "event_id", "text"],
  ["sessionId", "session_id", "text"],
  ["type", "type", "text"],
  ["name", "name", "text"],
  ["payloadJson", "payload_json", "text"],
  ["ts", "ts", "timestamptz"],
  ["lineNo", "line_no", "bigint"],
  ["turn", "turn", "integer"],
  ["toolCallId", "tool_call_id", "text"],
  ["tokens", "tokens", "bigint"],
  ["costUsd", "cost_usd", "numeric"],
] as const satisfies readonly (readonly [keyof HarnessColumns, string, string])[];

/** Runs `work` in one transaction: lines and how far they were read are stored together or not at all. */
export async function withBatch(db: Kysely<Tables>, work: (trx: Db) => Promise<void>): Promise<void> {
  await db.transaction().execute(work);
}

/** Inserts what is not there yet, in one statement whatever their number. @returns how many were new */
export async function insertHarnessEvents(trx: Db, rows: readonly HarnessColumns[]): Promise<number> {
  if (rows.length === 0) return 0;
  const arrays = EVENT_COLUMNS.map(([key, , type]) => sql`${rows.map((row) => row[key])}::${sql.raw(type)}[]`);
  const result = await sql`
    insert into harness_events (${sql.raw(EVENT_COLUMNS.map(([, column]) => column).join(", "))})
    select * from unnest(${sql.join(arrays)})
    on conflict (event_id) do nothing`.execute(trx);
  return Number(result.numAffectedRows ?? 0);
}

/** First write wins, per line of a pair: an outcome that is known stays. Ids must be unique within `records`. */
export async function upsertBills(trx: Db, records: readonly BillRecord[]): Promise<void> {
  if (records.length === 0) return;
  const rows = records.map((record) => sql`(${sql.join(BILL_COLUMNS.map((column) => sql`${record[column] ?? null}`))})`);
  const updates = OUTCOME_COLUMNS.map(
    (column) => `${column} = case when llm_calls.outcome is null then excluded.${column} else llm_calls.${column} end`,
  );
  await sql`
    insert into llm_calls (${sql.raw(BILL_COLUMNS.join(", "))}) values ${sql.join(rows)}
    on conflict (id) do update set ${sql.raw(updates.join(", "))}`.execute(trx);
}

export async function upsertJournalState(trx: Db, state: JournalState): Promise<void> {
  const { key: path, kind, sizeBytes, offsetBytes, inode, lineNo, fingerprint } = state;
  await trx
    .insertInto("ingestFiles")
    .values({ path, kind, sizeBytes, offsetBytes, inode, lineNo, fingerprint })
    .onConflict((conflict) => conflict.column("path").doUpdateSet({ kind, sizeBytes, offsetBytes, inode, lineNo, fingerprint }))
    .execute();
}

/** How far every journal was read into this base, by its key. */
export async function selectJournalStates(db: Db): Promise<ReadonlyMap<string, JournalState>> {
  const rows = await db
    .selectFrom("ingestFiles")
    .select(["path", "kind", "sizeBytes", "offsetBytes", "inode", "lineNo", "fingerprint"])
    .execute();
  return new Map(rows.map(({ path: key, ...state }) => [key, { key, ...state }]));
}
