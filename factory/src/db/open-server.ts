import type { Kysely } from "kysely";
import { Pool } from "pg";
import { FactoryError, messageOf } from "../lib/errors.ts";
import { createKysely } from "./create-kysely.ts";
import { selectServerVersion } from "./migrate.sql.ts";
import type { Tables } from "./tables.ts";
import { typeParsers } from "./type-parsers.ts";

const MAX_CLIENTS = 10;
const CONNECT_TIMEOUT_MS = 15_000;
const MIN_VERSION_NUMBER = 150_000;
const DEFAULT_PORT = "5432";

interface ServerDatabase {
  readonly db: Kysely<Tables>;
  close(): Promise<void>;
}

export type LogError = (error: Error) => void;

/**
 * Connects to a PostgreSQL server, not migrated.
 * @throws database-unreachable, naming host and port but no password; bad-config for a server older than 15.
 */
export async function openServer(databaseUrl: string, onIdleError: LogError): Promise<ServerDatabase> {
  const pool = new Pool({
    connectionString: databaseUrl,
    max: MAX_CLIENTS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "harnais",
    types: typeParsers,
  });
  pool.on("error", onIdleError); // a client that lost its server while idle: the pool replaces it
  const db = createKysely(pool);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= db.destroy());
  try {
    const { version, number } = await selectServerVersion(db);
    if (number < MIN_VERSION_NUMBER)
      throw new FactoryError("bad-config", `DATABASE_URL: PostgreSQL ${version} is too old, 15 or later is needed`, {
        field: "DATABASE_URL",
      });
    return { db, close };
  } catch (error) {
    await close();
    throw error instanceof FactoryError ? error : toUnreachable(databaseUrl, error);
  }
}

function toUnreachable(databaseUrl: string, error: unknown): FactoryError {
  const { hostname, port, pathname } = new URL(databaseUrl);
  // An AggregateError (both addresses of localhost) has no message of its own.
  const reasons = error instanceof AggregateError ? error.errors.map(messageOf).join(", ") : messageOf(error);
  return new FactoryError(
    "database-unreachable",
    `PostgreSQL unreachable at ${hostname || "localhost"}:${port || DEFAULT_PORT}, database "${pathname.slice(1)}" (${reasons}): ` +
      "is the server up? Correct DATABASE_URL, or unset it for the embedded database",
    { field: "DATABASE_URL", cause: error },
  );
}
