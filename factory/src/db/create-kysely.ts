import { CamelCasePlugin, CompiledQuery, Kysely, PostgresDialect } from "kysely";
import type { PostgresPool } from "kysely";
import { SESSION_SETTINGS } from "./session.sql.ts";
import type { Tables } from "./tables.ts";

/** The query builder over a pool of either base: the same dialect, session settings and names. */
export function createKysely(pool: PostgresPool): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool,
      onCreateConnection: async (connection) => void (await connection.executeQuery(CompiledQuery.raw(SESSION_SETTINGS))),
    }),
    // Keys inside jsonb are data, not column names; cacheWrite5m is cache_write_5m.
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true, underscoreBeforeDigits: true })],
  });
}
