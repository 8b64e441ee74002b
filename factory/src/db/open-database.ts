import type { Kysely } from "kysely";
import { prepareDataDir } from "./data-dir.ts";
import { selectServerVersion } from "./migrate.sql.ts";
import { migrate } from "./migrate.ts";
import { openEmbedded } from "./open-embedded.ts";
import { openServer } from "./open-server.ts";
import type { Tables } from "./tables.ts";

export interface Database {
  readonly db: Kysely<Tables>;
  readonly kind: "embedded" | "server";
  /** Waits for queries under way, then closes; the embedded base is shut down cleanly and free for the next owner. */
  close(): Promise<void>;
  /** PostgreSQL's own version, `18.6`. */
  version(): Promise<string>;
}

export interface OpenDatabaseOptions {
  readonly dataDir: string;
  /** A PostgreSQL server; undefined: the embedded base in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Told of a connection that was lost while idle. */
  readonly log?: { warn(fields: object, message: string): void };
}

/**
 * Opens the database, migrated to this code.
 * @throws base-owned, storage, database-unreachable, database-newer, bad-config; the abort reason when `signal` is aborted
 * while it opens (what was opened is closed again).
 */
export async function openDatabase(options: OpenDatabaseOptions, signal?: AbortSignal): Promise<Database> {
  signal?.throwIfAborted();
  const { dataDir, databaseUrl, log } = options;
  prepareDataDir(dataDir);
  const opened =
    databaseUrl === undefined
      ? await openEmbedded(dataDir)
      : await openServer(databaseUrl, (error) => log?.warn({ error: error.message }, "database connection lost"));
  try {
    signal?.throwIfAborted();
    await migrate(opened.db);
    signal?.throwIfAborted();
  } catch (error) {
    await opened.close();
    throw error;
  }
  return {
    db: opened.db,
    kind: databaseUrl === undefined ? "embedded" : "server",
    close: opened.close,
    version: async () => (await selectServerVersion(opened.db)).version,
  };
}
