import { BILL_LINE_TYPES } from "@harnais/contracts/harness-event.ts";
import type { Kysely } from "kysely";
import type { Tables } from "../db/tables.ts";
import { messageOf } from "../lib/errors.ts";
import { type BillRecord, mergeBills, toBillRecord } from "./bill-columns.ts";
import { type JournalFile, listJournalFiles } from "./journal-files.ts";
import {
  type HarnessColumns,
  insertHarnessEvents,
  selectJournalStates,
  upsertBills,
  upsertJournalState,
  withBatch,
} from "./mirror-postgres.sql.ts";
import { cleanText, type HarnessRow, parseBillLine, parseHarnessLine, type SkipReason } from "./parse-line.ts";
import { isUnchanged, type JournalLine, type JournalReading, type JournalState, openReading } from "./read-journal.ts";

export interface PostgresMirrorOptions {
  readonly dataDir: string;
  /** Only these journals. Default: all of the data folder. */
  readonly files?: readonly JournalFile[];
}

export interface PostgresMirrorReport {
  /** New rows of `harness_events`. */
  harnessEvents: number;
  skipped: Record<SkipReason, number>;
  unreadable: { readonly file: string; readonly reason: string }[];
}

const ROWS_PER_BATCH = 5000;
const BYTES_PER_BATCH = 8 * 1024 * 1024;
// 38 parameters a row; the wire protocol carries 65 535.
const BILLS_PER_BATCH = 500;

/**
 * Brings `harness_events` and `llm_calls` of PostgreSQL up to date from the raw files (runs, phases and events are the
 * engine's own there). Reads only what is new; two at once duplicate nothing.
 */
export async function mirrorToPostgres(db: Kysely<Tables>, { dataDir, files }: PostgresMirrorOptions): Promise<PostgresMirrorReport> {
  const report: PostgresMirrorReport = { harnessEvents: 0, skipped: { "not-json": 0, "bad-id": 0, "too-long": 0 }, unreadable: [] };
  const states = await selectJournalStates(db);
  const wanted = (files ?? listJournalFiles(dataDir)).filter((file) => file.kind !== "run" && !isUnchanged(file, states.get(file.key)));
  const batch: Batch = { rows: [], bytes: 0, bills: new Map(), states: new Map() };
  for (const file of wanted) {
    let reading: JournalReading;
    try {
      reading = openReading(file, states.get(file.key));
    } catch (error) {
      report.unreadable.push({ file: file.path, reason: messageOf(error) });
      continue;
    }
    try {
      await readInto(db, { file, reading, batch, report });
    } finally {
      reading.close();
    }
  }
  await flush(db, batch, report);
  return report;
}

interface Batch {
  rows: HarnessColumns[];
  bytes: number;
  readonly bills: Map<string, BillRecord>;
  readonly states: Map<string, JournalState>;
}

interface ReadJob {
  readonly file: JournalFile;
  readonly reading: JournalReading;
  readonly batch: Batch;
  readonly report: PostgresMirrorReport;
}

async function readInto(db: Kysely<Tables>, { file, reading, batch, report }: ReadJob): Promise<void> {
  let lastTs = "1970-01-01T00:00:00.000Z";
  for (const line of reading.lines) {
    if (line.text === "") continue;
    const skip = file.kind === "bill" ? addBill(batch, line) : addHarness(batch, line, (row) => (lastTs = toTimestamp(row.ts) ?? lastTs));
    // A last line without line end may be torn: it is judged when it is whole.
    if (skip !== undefined && line.isTerminated) report.skipped[skip]++;
    if (batch.rows.length < ROWS_PER_BATCH && batch.bytes < BYTES_PER_BATCH && batch.bills.size < BILLS_PER_BATCH) continue;
    // Not yet read to its end: it must not look unchanged, should this be cut.
    batch.states.set(file.key, { ...reading.toState(), sizeBytes: -1 });
    await flush(db, batch, report);
  }
  batch.states.set(file.key, reading.toState());
}

async function flush(db: Kysely<Tables>, batch: Batch, report: PostgresMirrorReport): Promise<void> {
  if (batch.states.size === 0 && batch.rows.length === 0 && batch.bills.size === 0) return;
  await withBatch(db, async (trx) => {
    report.harnessEvents += await insertHarnessEvents(trx, batch.rows);
    await upsertBills(trx, [...batch.bills.values()]);
    for (const state of batch.states.values()) await upsertJournalState(trx, state);
  });
  batch.rows = [];
  batch.bytes = 0;
  batch.bills.clear();
  batch.states.clear();
}

function addBill(batch: Batch, line: JournalLine): SkipReason | undefined {
  const parsed = parseBillLine(line.text);
  if ("skip" in parsed) return parsed.skip;
  const record = toBillRecord(parsed.row);
  const startedAt = toTimestamp(record["started_at"]) ?? "1970-01-01T00:00:00.000Z";
  batch.bills.set(parsed.row.id, mergeBills(batch.bills.get(parsed.row.id), { ...record, started_at: startedAt }));
  return undefined;
}

function addHarness(batch: Batch, line: JournalLine, toTs: (row: HarnessRow) => string): SkipReason | undefined {
  const parsed = parseHarnessLine(line.text);
  if ("skip" in parsed) return parsed.skip;
  const { row } = parsed;
  batch.rows.push({ ...toColumns(row), ts: toTs(row), lineNo: line.lineNo });
  batch.bytes += row.payloadJson.length;
  return undefined;
}

const MAX_INTEGER = 2_147_483_647;
const MAX_USD = 1_000_000; // numeric(15,9)
const BILL_TYPES: ReadonlySet<string | null> = new Set(BILL_LINE_TYPES);

/** Tokens and cost only of bills: totals lines must never be summed. */
function toColumns({ eventId, sessionId, type, name, payloadJson, payload }: HarnessRow): Omit<HarnessColumns, "ts" | "lineNo"> {
  const isBill = BILL_TYPES.has(type);
  const { turn, tool_call_id: toolCallId, total_tokens: tokens, cost_usd: costUsd } = payload;
  return {
    ...{ eventId, sessionId, type: type ?? "", name, payloadJson },
    turn: Number.isSafeInteger(turn) && Math.abs(turn as number) <= MAX_INTEGER ? (turn as number) : null,
    toolCallId: typeof toolCallId === "string" ? cleanText(toolCallId) : null,
    tokens: isBill && Number.isSafeInteger(tokens) ? (tokens as number) : null,
    costUsd: isBill && typeof costUsd === "number" && Math.abs(costUsd) < MAX_USD ? costUsd : null,
  };
}

/** Years that both a Date and PostgreSQL read. */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

function toTimestamp(value: unknown): string | undefined {
  if (typeof value !== "string" || !ISO.test(value)) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
