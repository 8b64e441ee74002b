import type { Db } from "../db/tables.ts";
import type { TraceSource } from "./load-run.ts";
import { listRunBills, listRunIds, listRunnerLines, listSessionEvents } from "./read-postgres.sql.ts";

/** PostgreSQL as a source of runs. That a bill was opened is not kept there: every bill counts as opened. */
export function createPostgresSource(db: Db): TraceSource {
  return {
    listRunIds: (limit) => listRunIds(db, limit),
    readRunnerLines: (runId) => listRunnerLines(db, runId),
    readSessions: (sessionIds) => listSessionEvents(db, sessionIds),
    readBills: async (runId) => (await listRunBills(db, runId)).map((bill) => ({ ...bill, is_opened: true })),
  };
}
