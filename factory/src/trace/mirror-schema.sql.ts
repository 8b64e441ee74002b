import { openSync, closeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { FactoryError, messageOf } from "../lib/errors.ts";

/** An open SQLite mirror. */
export type Mirror = DatabaseSync;

const SCHEMA_VERSION = 1;
const BUSY_TIMEOUT_MS = 15_000;

// T7: names are the contract, users type them. Order within a millisecond is the rowid's, which is the file's.
const SCHEMA = `
CREATE TABLE harness_events (event_id TEXT PRIMARY KEY, session_id TEXT, type TEXT, name TEXT, payload_json TEXT, ts TEXT);
CREATE INDEX harness_events_session ON harness_events (session_id, ts);
CREATE TABLE runs (adw_id TEXT PRIMARY KEY, adw_name TEXT, request TEXT, status TEXT, started_at TEXT, finished_at TEXT, cost_usd REAL, tokens INTEGER);
CREATE INDEX runs_started ON runs (started_at);
CREATE TABLE phases (phase_id TEXT PRIMARY KEY, adw_id TEXT, seq INTEGER, name TEXT, kind TEXT, status TEXT, attempts INTEGER, retries INTEGER, cost_usd REAL, tokens INTEGER, started_at TEXT, finished_at TEXT);
CREATE INDEX phases_run ON phases (adw_id, seq);
CREATE TABLE events (event_id TEXT PRIMARY KEY, adw_id TEXT, phase_id TEXT, type TEXT, name TEXT, payload_json TEXT, ts TEXT);
CREATE INDEX events_run ON events (adw_id);
CREATE INDEX events_phase_session ON events (adw_id, phase_id) WHERE type = 'phase_session';
CREATE VIEW harness_by_phase AS
  SELECT p.adw_id, p.phase_id, h.* FROM harness_events h
  JOIN (SELECT DISTINCT adw_id, phase_id, json_extract(payload_json,'$.session_id') AS session_id
        FROM events WHERE type='phase_session') p ON p.session_id = h.session_id;
CREATE TABLE llm_calls (id TEXT PRIMARY KEY, run_id TEXT, phase_id TEXT, label TEXT, attempt INTEGER, session_id TEXT, job_id TEXT, seq INTEGER, turn INTEGER, agent TEXT,
  provider TEXT, model_asked TEXT, model_answered TEXT, dialect TEXT, stream INTEGER, started_at TEXT, first_byte_ms REAL, upstream_ms REAL, overhead_ms REAL, total_ms REAL,
  http_status INTEGER, outcome TEXT, finish_reason TEXT, input INTEGER, cache_read INTEGER, cache_write_5m INTEGER, cache_write_1h INTEGER, output INTEGER, reasoning INTEGER,
  usage_source TEXT, cost_usd REAL, cost_status TEXT, price_version TEXT, message_count INTEGER, tool_count INTEGER, response_id TEXT, request_bytes INTEGER, response_bytes INTEGER,
  is_opened INTEGER NOT NULL DEFAULT 0);
CREATE INDEX llm_calls_run ON llm_calls (run_id, started_at);
CREATE TABLE ingest_files (path TEXT PRIMARY KEY, kind TEXT, size_bytes INTEGER, offset_bytes INTEGER, inode TEXT, line_no INTEGER, fingerprint TEXT);
PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Opens (and makes) the mirror. One that an older Harnais made is emptied: it is rebuilt from the raw files.
 * @throws storage when the file cannot be opened or is not a database.
 */
export function openMirror(file: string): Mirror {
  let mirror: Mirror | undefined;
  try {
    if (file !== ":memory:") closeSync(openSync(file, "a", 0o600));
    mirror = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    useWriteAheadLog(mirror);
    mirror.exec("PRAGMA synchronous = NORMAL");
    if (readVersion(mirror) !== SCHEMA_VERSION) transact(mirror, () => createSchema(mirror as Mirror));
    return mirror;
  } catch (error) {
    mirror?.close();
    throw new FactoryError(
      "storage",
      `the mirror ${file} cannot be used (${messageOf(error)}): make its folder writable, or delete it: it is rebuilt from the raw files`,
      {
        cause: error,
      },
    );
  }
}

/** Runs `work` in one write transaction, taken at its start so that two ingests follow each other. */
export function transact<Result>(mirror: Mirror, work: () => Result): Result {
  mirror.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    mirror.exec("COMMIT");
    return result;
  } catch (error) {
    if (mirror.isTransaction) mirror.exec("ROLLBACK");
    throw error;
  }
}

/** Another process may be switching at the same moment, and SQLite does not wait for that. */
function useWriteAheadLog(mirror: Mirror): void {
  const deadline = Date.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      mirror.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (!/locked|busy/.test(messageOf(error)) || Date.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function createSchema(mirror: Mirror): void {
  // Another process may have made it while this one waited for the lock.
  if (readVersion(mirror) === SCHEMA_VERSION) return;
  const old = mirror.prepare("SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'").all();
  for (const { type, name } of old) mirror.exec(`DROP ${String(type)} "${String(name).replaceAll('"', '""')}"`);
  mirror.exec(SCHEMA);
}

function readVersion(mirror: Mirror): number {
  return Number(mirror.prepare("PRAGMA user_version").get()?.["user_version"]);
}
