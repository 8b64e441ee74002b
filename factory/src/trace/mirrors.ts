import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { Tables } from "../db/tables.ts";
import { messageOf } from "../lib/errors.ts";
import { ingestTraces } from "./ingest-traces.ts";
import { toMirrorFile } from "./mirror-file.ts";
import { mirrorToPostgres } from "./mirror-to-postgres.ts";

/** The worker's two mirrors of the raw files. */
export interface Mirrors {
  /** Brings `harness_events` and `llm_calls` up to date. Never rejects: a failure is logged, and the next call catches up. */
  toPostgres(): Promise<void>;
  /** Brings `<data>/factory.db` up to date. Never rejects: a failure is logged, and the next call catches up. */
  toSqlite(): Promise<void>;
}

/** Calls that come while one is under way share the next one: lines written before the call are always among those read. */
export function createMirrors({
  db,
  dataDir,
  log,
}: {
  readonly db: Kysely<Tables>;
  readonly dataDir: string;
  readonly log: Logger;
}): Mirrors {
  const guard = (name: string, work: () => Promise<unknown>): (() => Promise<void>) =>
    coalesce(() =>
      work().then(
        () => undefined,
        (error: unknown) => log.error({ err: error, mirror: name, error: messageOf(error) }, "the traces were not mirrored"),
      ),
    );
  return {
    toPostgres: guard("postgres", () => mirrorToPostgres(db, { dataDir })),
    toSqlite: guard("sqlite", async () => ingestTraces({ dataDir, dbFile: toMirrorFile(dataDir, undefined) })),
  };
}

function coalesce(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  return () => {
    if (current === undefined) {
      current = work().finally(() => (current = undefined));
      return current;
    }
    // The one under way may already be past the caller's lines.
    next ??= current.then(() => {
      next = undefined;
      current = work().finally(() => (current = undefined));
      return current;
    });
    return next;
  };
}
