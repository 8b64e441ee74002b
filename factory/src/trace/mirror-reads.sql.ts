import type { BillRecord } from "./bill-columns.ts";
import type { Mirror } from "./mirror-schema.sql.ts";

/** An event as the mirror holds it: of a CLI, or of the runner (then `owner` is the run). */
export interface StoredEvent {
  readonly eventId: string;
  readonly owner: string;
  readonly phaseId: string | null;
  readonly type: string | null;
  readonly name: string | null;
  readonly payloadJson: string;
  readonly ts: string | null;
}

// INDEXED BY: left alone, SQLite may walk the whole table to save the sort by rowid.

/** Events of one run in the order of its journal. */
export function selectRunEvents(mirror: Mirror, runId: string): StoredEvent[] {
  return mirror
    .prepare(
      "SELECT event_id, adw_id AS owner, phase_id, type, name, payload_json, ts FROM events INDEXED BY events_run WHERE adw_id = ? ORDER BY rowid",
    )
    .all(runId)
    .map(toStoredEvent);
}

/** Lines of one session in the order of its journal. */
export function selectSessionEvents(mirror: Mirror, sessionId: string): StoredEvent[] {
  return mirror
    .prepare(
      "SELECT event_id, session_id AS owner, NULL AS phase_id, type, name, payload_json, ts FROM harness_events INDEXED BY harness_events_session WHERE session_id = ? ORDER BY rowid",
    )
    .all(sessionId)
    .map(toStoredEvent);
}

/** Bills of one run, in the order in which its calls began. */
export function selectRunBills(mirror: Mirror, runId: string): BillRecord[] {
  return mirror
    .prepare("SELECT * FROM llm_calls WHERE run_id = ? ORDER BY started_at, job_id, seq")
    .all(runId)
    .map((row) => row as unknown as BillRecord);
}

/** Bills of runs that no runner's journal knows, summed by the run they name. */
export function selectOrphanBills(mirror: Mirror): { runId: string | null; calls: number; costUsd: number | null; firstCall: string }[] {
  return mirror
    .prepare(
      "SELECT run_id, COUNT(*) AS calls, SUM(cost_usd) AS cost_usd, MIN(id) AS first_call FROM llm_calls WHERE run_id IS NULL OR run_id NOT IN (SELECT adw_id FROM runs) GROUP BY run_id ORDER BY run_id",
    )
    .all()
    .map((row) => ({
      runId: row["run_id"] as string | null,
      calls: Number(row["calls"]),
      costUsd: row["cost_usd"] as number | null,
      firstCall: String(row["first_call"]),
    }));
}

/** Ids of the runs, the newest first. */
export function selectRunIds(mirror: Mirror, limit: number): string[] {
  return mirror
    .prepare("SELECT adw_id FROM runs ORDER BY started_at DESC, rowid DESC LIMIT ?")
    .all(limit)
    .map((row) => String(row["adw_id"]));
}

function toStoredEvent(row: Record<string, unknown>): StoredEvent {
  return {
    eventId: String(row["event_id"]),
    owner: String(row["owner"]),
    phaseId: row["phase_id"] as string | null,
    type: row["type"] as string | null,
    name: row["name"] as string | null,
    payloadJson: String(row["payload_json"]),
    ts: row["ts"] as string | null,
  };
}
