import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { RunId } from "@harnais/contracts/ids.ts";
import { openJournal } from "../lib/journal.ts";
import { listFinishedEvents, listRunEvents } from "./event.sql.ts";
import { type RecorderDeps, toJournalFile } from "./run-recorder.ts";

const NEWEST_RUNS = 200;
/** The last line of a finished run is its `run_finish`, far shorter than this. */
const TAIL_BYTES = 4096;

/** Runs among the newest whose journal does not end with their end: a full disk or a crash came before the line. */
export async function findJournalsBehind({ db, tracesDir }: Pick<RecorderDeps, "db" | "tracesDir">): Promise<RunId[]> {
  const ends = await listFinishedEvents(db, NEWEST_RUNS);
  return ends.filter(({ runId, eventId }) => !readTail(toJournalFile(tracesDir, runId)).includes(`"${eventId}"`)).map(({ runId }) => runId);
}

/** Appends to a finished run's journal the events that it misses. @throws the system's error when it cannot be written */
export async function completeJournal({ db, tracesDir }: Pick<RecorderDeps, "db" | "tracesDir">, runId: RunId): Promise<void> {
  const file = toJournalFile(tracesDir, runId);
  const stored = await listRunEvents(db, runId);
  const journal = openJournal(file, { isOnlyWriter: true });
  try {
    const text = readTail(file, Number.MAX_SAFE_INTEGER);
    for (const { seq: _seq, ...line } of stored) if (!text.includes(`"${line.event_id}"`)) journal.append(line);
  } finally {
    journal.close();
  }
}

function readTail(file: string, maxBytes: number = TAIL_BYTES): string {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return "";
  }
  try {
    const { size } = fstatSync(descriptor);
    const length = Math.min(size, maxBytes);
    const bytes = Buffer.alloc(length);
    readSync(descriptor, bytes, 0, length, size - length);
    return bytes.toString("utf8");
  } finally {
    closeSync(descriptor);
  }
}
