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
import { applyRunnerLine, type FoldedRun } from "./fold-run.ts";
import { JournalUnwritable, LeaseLost } from "./run-failures.ts";
import type { Lease } from "./run.sql.ts";

/** The one writer of a run's events: database first (the transaction checks the fence), then `traces/<run_id>.jsonl`, then the feed. */
export interface RunRecorder {
  readonly folded: FoldedRun | undefined;
  /**
   * Stores one event and the rows it changes.
   * @throws LeaseLost when another holds the run; JournalUnwritable when the file could not be written (the database has the event).
   */
  record(event: RunnerEvent): Promise<void>;
  close(): void;
}

export interface RecorderDeps {
  readonly db: Kysely<Tables>;
  readonly tracesDir: string;
  readonly feed: EventFeed;
  readonly now?: () => Date;
}

/**
 * Opens a run's journal: folds the events it already has and appends to the file those that it misses (a crash came
 * between the commit and the line). Without a lease only events of an unstarted run may be recorded.
 */
export async function openRunRecorder(
  deps: RecorderDeps,
  run: { readonly runId: RunId; readonly lease?: Lease; readonly cwd: () => string },
): Promise<RunRecorder> {
  const stored = await listRunEvents(deps.db, run.runId);
  const journal = openWhole(join(deps.tracesDir, `${run.runId}.jsonl`), stored);
  let folded: FoldedRun | undefined;
  for (const line of stored) folded = applyRunnerLine(folded, line);
  const now = deps.now ?? (() => new Date());
  let isUnwritable = false;

  return {
    get folded() {
      return folded;
    },
    async record(event) {
      const line: RunnerLine = {
        event_id: createEventId("evt"),
        ts: now().toISOString(),
        run_id: run.runId,
        phase_id: event.phaseId,
        type: event.type,
        name: event.name,
        payload: { ...event.payload },
      };
      folded = applyRunnerLine(folded, line);
      const seq = await store(deps.db, { line, folded, lease: run.lease, cwd: run.cwd() });
      deps.feed.publish(toFrame(line, seq));
      try {
        journal.append(line);
      } catch (error) {
        // Said once; what follows (the run's end) still goes to the database, and to the file at the next opening.
        if (isUnwritable) return;
        isUnwritable = true;
        throw new JournalUnwritable(journal.file, error);
      }
    },
    close: () => journal.close(),
  };
}

/** The run's journal, with every stored event in it. @throws JournalUnwritable */
function openWhole(file: string, stored: readonly StoredEvent[]): Journal {
  try {
    const journal = openJournal(file);
    for (const { seq: _seq, ...line } of missingIn(file, stored)) journal.append(line);
    return journal;
  } catch (error) {
    throw new JournalUnwritable(file, error);
  }
}

function missingIn<Line extends RunnerLine>(file: string, stored: readonly Line[]): Line[] {
  if (stored.length === 0 || !existsSync(file)) return [...stored];
  const text = readFileSync(file, "utf8");
  return stored.filter((line) => !text.includes(`"${line.event_id}"`));
}

async function store(
  db: Kysely<Tables>,
  { line, folded, lease, cwd }: { line: RunnerLine; folded: FoldedRun | undefined; lease: Lease | undefined; cwd: string },
): Promise<number> {
  return db.transaction().execute(async (trx) => {
    if (lease !== undefined && !(await holdsLease(trx, lease))) throw new LeaseLost(`run ${line.run_id} is held by another worker`);
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

function toFrame(line: RunnerLine, seq: number): Parameters<EventFeed["publish"]>[0] {
  return { seq, runId: line.run_id, phaseId: line.phase_id, type: line.type, name: line.name, payload: line.payload, ts: line.ts };
}
