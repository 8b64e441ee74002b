import type { Kysely } from "kysely";
import { Migrator } from "kysely/migration";
import { FactoryError, messageOf } from "../lib/errors.ts";
import { createSchema, listAppliedMigrations } from "./migrate.sql.ts";
import { MIGRATIONS } from "./migrations.ts";
import { SCHEMA } from "./session.sql.ts";
import type { Tables } from "./tables.ts";

/**
 * Brings the base up to this code, forward only, under a lock: a second process waits and finds nothing to do.
 * @throws database-newer when the base knows migrations that this code does not.
 */
export async function migrate(db: Kysely<Tables>): Promise<void> {
  const applied = await listAppliedMigrations(db);
  const unknown = applied.filter((name) => !(name in MIGRATIONS));
  if (unknown.length > 0)
    throw new FactoryError(
      "database-newer",
      `the database was written by a newer Harnais (migration ${unknown.at(-1)} is unknown here): update this one`,
    );
  if (applied.length === Object.keys(MIGRATIONS).length) return;
  await createSchema(db);
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) }, migrationTableSchema: SCHEMA });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const failed = results?.find(({ status }) => status === "Error")?.migrationName;
  throw new Error(`migration ${failed ?? "(none)"} failed: ${messageOf(error)}`, { cause: error });
}
