import { openJournal } from "../lib/journal.ts";
import { insertEvent } from "./event.sql.ts";
import { JournalUnwritable } from "./run-failures.ts";
import { type RecorderDeps, toFrame, toJournalFile, toLine } from "./run-recorder.ts";
import { insertRun, type NewRun } from "./run.sql.ts";

/**
 * Stores a queued run and its first event in one transaction: no worker sees the one without the other.
 * @throws JournalUnwritable when the event could not be written to its file (the run is queued all the same).
 */
export async function queueRun(deps: RecorderDeps, run: NewRun): Promise<void> {
  const line = toLine(
    run.runId,
    {
      type: "run_queued",
      phaseId: null,
      name: run.workflow,
      payload: { workflow: run.workflow, input: run.input, project: run.projectId, request_id: run.requestId },
    },
    deps,
  );
  const seq = await deps.db.transaction().execute(async (trx) => {
    await insertRun(trx, run);
    return insertEvent(trx, line);
  });
  const file = toJournalFile(deps.tracesDir, run.runId);
  try {
    const journal = openJournal(file);
    journal.append(line);
    journal.close();
  } catch (error) {
    throw new JournalUnwritable(file, error);
  }
  deps.feed.publish(toFrame(line, seq));
}
