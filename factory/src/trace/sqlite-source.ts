import { toRunnerLine } from "./ingest-traces.ts";
import type { TraceSource } from "./load-run.ts";
import { selectRunBills, selectRunEvents, selectRunIds, selectSessionEvents } from "./mirror-reads.sql.ts";
import type { Mirror } from "./mirror-schema.sql.ts";

/** The SQLite mirror as a source of runs. */
export function createSqliteSource(mirror: Mirror): TraceSource {
  return {
    listRunIds: async (limit) => selectRunIds(mirror, limit),
    readRunnerLines: async (runId) => selectRunEvents(mirror, runId).map(toRunnerLine),
    readSessions: async (sessionIds) =>
      sessionIds
        .flatMap((sessionId) => selectSessionEvents(mirror, sessionId))
        .map((event) => ({
          eventId: event.eventId,
          sessionId: event.owner,
          type: event.type ?? "",
          name: event.name,
          payload: JSON.parse(event.payloadJson) as Record<string, unknown>,
          ts: event.ts ?? "",
        })),
    readBills: async (runId) => selectRunBills(mirror, runId),
  };
}
