import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createEventId, type RunId } from "@harnais/contracts/ids.ts";
import type { RunnerLine } from "@harnais/contracts/journal-line.ts";
import type { RunnerEvent } from "@harnais/contracts/runner-event.ts";
import type { Kysely } from "kysely";
import type { Tables } from "../db/tables.ts";
import { type Journal, openJournal } from "../lib/journal.ts";
import { holdsLease, insertEvent, listRunEvents, saveAttemptRow, savePhaseRow, saveRunRow, type StoredEvent } from "./event.sql.ts";
import type { EventFeed } from "./event-feed.ts";
import { applyRunnerLine, type FoldedRun, foldRun } from "./fold-run.ts";
import { JournalUnwritable, LeaseLost } from "./run-failures.ts";
import type { Lease } from "./run.sql.ts";

/** The one writer of a leased run's events: database first (the transaction checks the fence), then `traces/<run_id>.jsonl`, then the feed. */
export interface RunRecorder {
  readonly folded: FoldedRun | undefined;
  /** True when the file misses events that the database has: complete it later (complete-journals.ts). */
  readonly isBehind: boolean;
  /**
   * Stores one event and the rows it changes.
   * @throws LeaseLost when another holds the run; JournalUnwritable, once, when the file could not be written (the database has the event).
   */
  record(event: RunnerEvent): Promise<void>;
  close(): void;
}

export interface RecorderDeps {
  readonly db: Kysely<Tables>;
  readonly tracesDir: string;
  readonly feed: EventFeed;
  /** Takes what must not be stored out of an event's words. */
  redact(payload: Record<string, unknown>): Record<string, unknown>;
}

/**
 * Opens a leased run's journal: folds the events it already has and appends to the file those that it misses (a crash
 * or a full disk came between the commit and the line).
 */
export async function openRunRecorder(
  deps: RecorderDeps,
  { lease, cwd }: { readonly lease: Lease; readonly cwd: () => string },
): Promise<RunRecorder> {
  const { runId } = lease;
  const stored = await listRunEvents(deps.db, runId);
  const file = openWhole(toJournalFile(deps.tracesDir, runId), stored);
  let folded = foldRun(stored);
  let isSaid = false;
  return {
    get folded() {
      return folded;
    },
    get isBehind() {
      return file.failure !== undefined;
    },
    async record(event) {
      const line = toLine(runId, event, deps);
      // A copy: what is not stored must not have changed what is known.
      const next = applyRunnerLine(structuredClone(folded), line);
      const seq = await store(deps.db, { line, folded: next, lease, cwd: cwd() });
      folded = next;
      file.append(line);
      deps.feed.publish(toFrame(line, seq));
      if (file.failure === undefined || isSaid) return;
      isSaid = true;
      throw new JournalUnwritable(file.name, file.failure);
    },
    close: () => file.close(),
  };
}

export const toJournalFile = (tracesDir: string, runId: RunId): string => join(tracesDir, `${runId}.jsonl`);

/** A runner event as its journal line. */
export function toLine(runId: RunId, event: RunnerEvent, { redact }: Pick<RecorderDeps, "redact">): RunnerLine {
  return {
    event_id: createEventId("evt"),
    ts: new Date().toISOString(),
    run_id: runId,
    phase_id: event.phaseId,
    type: event.type,
    name: event.name,
    payload: redact({ ...event.payload }),
  };
}

interface RunFile {
  readonly name: string;
  /** Why a line could not be written; what follows is not written either, so that the order holds. */
  readonly failure: unknown;
  append(line: RunnerLine): void;
  close(): void;
}

/** The run's journal with every stored event in it. Never throws: see `failure`. */
function openWhole(name: string, stored: readonly StoredEvent[]): RunFile {
  let journal: Journal | undefined;
  let failure: unknown;
  const append = (line: RunnerLine): void => {
    if (failure !== undefined) return;
    try {
      journal ??= openJournal(name, { isOnlyWriter: true });
      journal.append(line);
    } catch (error) {
      failure = error;
    }
  };
  for (const { seq: _seq, ...line } of missingIn(name, stored)) append(line);
  return {
    name,
    get failure() {
      return failure;
    },
    append,
    close: () => journal?.close(),
  };
}

function missingIn<Line extends RunnerLine>(file: string, stored: readonly Line[]): Line[] {
  if (stored.length === 0 || !existsSync(file)) return [...stored];
  const text = readFileSync(file, "utf8");
  return stored.filter((line) => !text.includes(`"${line.event_id}"`));
}

async function store(
  db: Kysely<Tables>,
  { line, folded, lease, cwd }: { line: RunnerLine; folded: FoldedRun | undefined; lease: Lease; cwd: string },
): Promise<number> {
  return db.transaction().execute(async (trx) => {
    if (!(await holdsLease(trx, lease))) throw new LeaseLost(`run ${line.run_id} is held by another worker`);
    if (folded !== undefined) {
      await saveRunRow(trx, folded);
      const phase = folded.phases.find((candidate) => candidate.phaseId === line.phase_id);
      if (phase !== undefined) {
        await savePhaseRow(trx, { run: folded, phase, cwd });
        const touched =
          "attempt" in line.payload ? phase.attempts.find((attempt) => attempt.attempt === line.payload["attempt"]) : undefined;
        if (touched !== undefined) await saveAttemptRow(trx, phase.phaseId, touched);
      }
    }
    return insertEvent(trx, line);
  });
}

/** A stored line as a frame of `/api/events`. */
export function toFrame(line: RunnerLine, seq: number): Parameters<EventFeed["publish"]>[0] {
  return { seq, runId: line.run_id, phaseId: line.phase_id, type: line.type, name: line.name, payload: line.payload, ts: line.ts };
}
