import { type Kysely, sql } from "kysely";
import { SCHEMA } from "./session.sql.ts";
import type { Tables } from "./tables.ts";

// Any constant; the lock lives as long as its transaction.
const SCHEMA_LOCK = 4_600_001;

/** Makes the schema once, also when two processes start at one moment. */
export async function createSchema(db: Kysely<Tables>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(SCHEMA_LOCK)})`.execute(transaction);
    await sql`create schema if not exists ${sql.id(SCHEMA)}`.execute(transaction);
  });
}

/** Names of the migrations that this base has seen, oldest first; none on a new one. */
export async function listAppliedMigrations(db: Kysely<Tables>): Promise<readonly string[]> {
  const table = `${SCHEMA}.kysely_migration`;
  const { rows } = await sql<{ exists: boolean }>`select to_regclass(${table}) is not null as "exists"`.execute(db);
  if (rows[0]?.exists !== true) return [];
  const applied = await sql<{ name: string }>`select name from ${sql.table(table)} order by name`.execute(db);
  return applied.rows.map(({ name }) => name);
}

/** `18.6`. */
export async function selectServerVersion(db: Kysely<Tables>): Promise<{ version: string; number: number }> {
  const { rows } = await sql<{ version: string; number: number }>`
    select current_setting('server_version') as version, current_setting('server_version_num')::integer as number`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("the database does not tell its version");
  return { ...row, version: row.version.split(" ")[0] ?? row.version };
}
