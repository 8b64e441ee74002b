import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/db/open-database.ts";
import { messageOf } from "../../src/lib/errors.ts";
import type { FactoryError } from "../../src/lib/errors.ts";
import { openTestDatabase, TEST_SERVER_URL } from "./support/database.ts";
import { createEmptyDatabase } from "./support/test-server.sql.ts";

let dataDir: string;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), "harnais-server-"));
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

test("an unreachable server is told by host and port, without its password", async () => {
  const opening = openDatabase({ dataDir, databaseUrl: "postgres://user:hunter22@127.0.0.1:1/harnais" });
  const error = await opening.catch((reason: unknown) => reason as FactoryError);
  expect(error).toMatchObject({ code: "database-unreachable", message: expect.stringContaining("127.0.0.1:1") });
  expect(messageOf(error)).not.toContain("hunter22");
});

// HARNAIS_REQUIRE=all makes describeOnBases fail without a server: here it is enough to skip.
describe.skipIf(TEST_SERVER_URL === undefined)("on a PostgreSQL server", () => {
  const url = TEST_SERVER_URL ?? "";

  test("a wrong password or database is told, without the password", async () => {
    const wrongPassword = new URL(url);
    wrongPassword.password = "hunter22";
    const wrongDatabase = new URL(url);
    wrongDatabase.pathname = "/no_such_base";
    for (const { href } of [wrongPassword, wrongDatabase]) {
      const error = await openDatabase({ dataDir, databaseUrl: href }).catch((reason: unknown) => reason as FactoryError);
      expect(error).toMatchObject({ code: "database-unreachable", message: expect.stringContaining(wrongPassword.host) });
      expect(messageOf(error)).not.toContain("hunter22");
      expect(messageOf(error)).not.toContain(new URL(url).password);
    }
  });

  test("several processes that start on an empty database migrate it once", async () => {
    const empty = await createEmptyDatabase(url);
    const opened = await Promise.all(Array.from({ length: 4 }, () => openDatabase({ dataDir, databaseUrl: empty.url })));
    const [first] = opened;
    expect((await sql`select name from harnais.kysely_migration`.execute(first!.db)).rows).toHaveLength(1);
    await Promise.all(opened.map((database) => database.close()));
    await empty.drop();
  });

  test("nothing of ours stands outside the schema harnais", async () => {
    const { database, close } = await openTestDatabase("server");
    const { rows } = await sql`
      select distinct schemaname from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`.execute(database.db);
    expect(rows).toEqual([{ schemaname: "harnais" }]);
    await close();
  });

  test("a connection that the server ends while idle is replaced", async () => {
    const { database, close } = await openTestDatabase("server");
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database.db);
    const other = await openDatabase({ dataDir, databaseUrl: url });
    await sql`select pg_terminate_backend(${rows[0]!.pid})`.execute(other.db);
    await expect
      .poll(async () =>
        sql`select 1 as one`.execute(database.db).then(
          ({ rows: found }) => found,
          () => [],
        ),
      )
      .toEqual([{ one: 1 }]);
    await other.close();
    await close();
  });
});
