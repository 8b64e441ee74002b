import type { EventFrame } from "@harnais/contracts/api-bodies.ts";
import type { Db } from "../db/tables.ts";
import { lastSeq, listEventsAfter } from "./event.sql.ts";

/** Stored events after `seq` as frames of `/api/events`, oldest first. */
export async function listEventFrames(db: Db, query: { seq: number; runId?: string; limit: number }): Promise<EventFrame[]> {
  const events = await listEventsAfter(db, query);
  return events.map(({ seq, run_id: runId, phase_id: phaseId, type, name, payload, ts }) => ({
    seq,
    runId: runId === "" ? null : runId,
    phaseId,
    type,
    name,
    payload,
    ts,
  }));
}

export const findLastSeq = lastSeq;
