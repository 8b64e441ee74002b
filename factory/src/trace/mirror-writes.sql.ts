import type { SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { FoldedRun } from "../runs/fold-run.ts";
import { BILL_COLUMNS, type BillRecord, OUTCOME_COLUMNS } from "./bill-columns.ts";
import type { Mirror } from "./mirror-schema.sql.ts";
import type { HarnessRow, RunnerRow } from "./parse-line.ts";
import type { JournalState } from "./read-journal.ts";

/** `conflict`: the id is there with other content, which stays. */
export type Written = "new" | "known" | "conflict";

/** Prepared once per ingest. */
export interface MirrorWriter {
  insertHarness(row: HarnessRow): Written;
  insertRunner(row: RunnerRow): Written;
  /** First write wins, per line of the pair. */
  upsertBill(record: BillRecord, isOpening: boolean): void;
  saveState(state: JournalState): void;
  findState(key: string): JournalState | undefined;
}

const HARNESS_VALUES = ["session_id", "type", "name", "payload_json", "ts"] as const;
const RUNNER_VALUES = ["adw_id", "phase_id", "type", "name", "payload_json", "ts"] as const;

export function prepareWriter(mirror: Mirror): MirrorWriter {
  const harness = prepareEvents(mirror, "harness_events", HARNESS_VALUES);
  const runner = prepareEvents(mirror, "events", RUNNER_VALUES);
  const bill = mirror.prepare(`
    INSERT INTO llm_calls (${BILL_COLUMNS.join(", ")}, is_opened) VALUES (${BILL_COLUMNS.map(() => "?").join(", ")}, ?)
    ON CONFLICT (id) DO UPDATE SET is_opened = max(is_opened, excluded.is_opened),
      ${OUTCOME_COLUMNS.map((column) => `${column} = CASE WHEN llm_calls.outcome IS NULL THEN excluded.${column} ELSE llm_calls.${column} END`).join(", ")}`);
  const save = mirror.prepare(
    "INSERT OR REPLACE INTO ingest_files (path, kind, size_bytes, offset_bytes, inode, line_no, fingerprint) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const find = mirror.prepare(`${SELECT_STATES} WHERE path = ?`);
  return {
    insertHarness: ({ eventId, sessionId, type, name, payloadJson, ts }) =>
      insertEvent(harness, eventId, [sessionId, type, name, payloadJson, ts]),
    insertRunner: ({ eventId, runId, phaseId, type, name, payloadJson, ts }) =>
      insertEvent(runner, eventId, [runId, phaseId, type, name, payloadJson, ts]),
    upsertBill(record, isOpening) {
      bill.run(...BILL_COLUMNS.map((column) => toSqlite(record[column] ?? null)), isOpening ? 1 : 0);
    },
    saveState: (state) =>
      void save.run(state.key, state.kind, state.sizeBytes, state.offsetBytes, state.inode, state.lineNo, state.fingerprint),
    findState(key) {
      const row = find.get(key);
      return row === undefined ? undefined : toState(row);
    },
  };
}

interface EventStatements {
  readonly insert: StatementSync;
  readonly find: StatementSync;
}

function prepareEvents(mirror: Mirror, table: string, columns: readonly string[]): EventStatements {
  return {
    insert: mirror.prepare(
      `INSERT OR IGNORE INTO ${table} (event_id, ${columns.join(", ")}) VALUES (?, ${columns.map(() => "?").join(", ")})`,
    ),
    find: mirror.prepare(`SELECT 1 FROM ${table} WHERE event_id = ? AND ${columns.map((column) => `${column} IS ?`).join(" AND ")}`),
  };
}

function insertEvent({ insert, find }: EventStatements, eventId: string, values: readonly (string | null)[]): Written {
  if (insert.run(eventId, ...values).changes === 1) return "new";
  return find.get(eventId, ...values) === undefined ? "conflict" : "known";
}

const SELECT_STATES = "SELECT path, kind, size_bytes, offset_bytes, inode, line_no, fingerprint FROM ingest_files";

/** How far every journal was read, by its key. */
export function selectStates(mirror: Mirror): ReadonlyMap<string, JournalState> {
  return new Map(
    mirror
      .prepare(SELECT_STATES)
      .all()
      .map((row) => [String(row["path"]), toState(row)]),
  );
}

function toState(row: Record<string, SQLOutputValue>): JournalState {
  return {
    key: String(row["path"]),
    kind: String(row["kind"]),
    sizeBytes: Number(row["size_bytes"]),
    offsetBytes: Number(row["offset_bytes"]),
    inode: String(row["inode"]),
    lineNo: Number(row["line_no"]),
    fingerprint: row["fingerprint"] === null ? null : String(row["fingerprint"]),
  };
}

/** The mirror's `runs` and `phases` of one run, from the fold of its events. */
export function replaceRun(mirror: Mirror, run: FoldedRun): void {
  mirror
    .prepare(
      "INSERT OR REPLACE INTO runs (adw_id, adw_name, request, status, started_at, finished_at, cost_usd, tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .run(run.runId, run.workflow, run.request.toWellFormed(), run.status, run.startedAt, run.finishedAt, run.costUsd, run.tokens);
  mirror.prepare("DELETE FROM phases WHERE adw_id = ?").run(run.runId);
  const insert = mirror.prepare(
    "INSERT OR REPLACE INTO phases (phase_id, adw_id, seq, name, kind, status, attempts, retries, cost_usd, tokens, started_at, finished_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  for (const phase of run.phases) {
    const money: SQLInputValue[] = [phase.costUsd, phase.tokens, phase.startedAt, phase.finishedAt];
    insert.run(phase.phaseId, run.runId, phase.seq, phase.name, phase.kind, phase.status, phase.attempts.length, phase.retries, ...money);
  }
}

const toSqlite = (value: string | number | boolean | null): SQLInputValue => (typeof value === "boolean" ? Number(value) : value);
