import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { expect } from "vitest";
import { dumpSchema } from "../../src/db/dump-schema.sql.ts";
import { migrate } from "../../src/db/migrate.ts";
import { describeOnBases } from "./support/database.ts";

const SCHEMA_FILE = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "src", "db", "schema.sql");

describeOnBases("the database", (test, base) => {
  test("is what schema.sql says: run scripts/dump-schema.ts after a migration", async ({ db }) => {
    expect(await dumpSchema(db)).toBe(readFileSync(SCHEMA_FILE, "utf8"));
  });

  test("tells its version and its kind", async ({ database }) => {
    expect(database.kind).toBe(base);
    expect(await database.version()).toMatch(/^\d+\.\d+$/);
  });

  test("gives the same JavaScript values on both bases", async ({ db }) => {
    const { rows } = await sql`
      select 9007199254740991::int8 as big, 0.000000001::numeric(15,9) as money, 1.5::real as real, true as yes, null::int8 as nothing,
        '2026-02-03 04:05:06.789123+02'::timestamptz as at, '2026-02-03 04:05:06+00'::timestamptz as whole,
        array['a', null, 'b,"c"']::text[] as list, '{"a_b": [1, null]}'::jsonb as data, '2026-02-03'::date as day,
        ${"é\u2028😀"}::text as text, ${["x", "y z"]}::text[] as given, ${JSON.stringify({ aB: 1 })}::jsonb as given_data`.execute(db);
    expect(rows).toEqual([
      {
        big: Number.MAX_SAFE_INTEGER,
        money: 1e-9,
        real: 1.5,
        yes: true,
        nothing: null,
        at: "2026-02-03T02:05:06.789Z",
        whole: "2026-02-03T04:05:06.000Z",
        list: ["a", null, 'b,"c"'],
        data: { a_b: [1, null] },
        day: "2026-02-03",
        text: "é\u2028😀",
        given: ["x", "y z"],
        givenData: { aB: 1 },
      },
    ]);
  });

  test("an integer beyond what a number can tell is an error, not a rounded number", async ({ db }) => {
    await expect(sql`select 9007199254740993::int8 as big`.execute(db)).rejects.toThrow("9007199254740993");
    await expect(sql`select 1 as one`.execute(db)).resolves.toMatchObject({ rows: [{ one: 1 }] });
  });

  test("an error keeps its SQLSTATE and its constraint", async ({ db }) => {
    const insert = db.insertInto("providers").values({ name: "p", dialect: "messages", baseUrl: "http://x", keyEnv: null, enabled: true });
    await insert.execute();
    await expect(insert.execute()).rejects.toMatchObject({ code: "23505", constraint: "providers_pkey" });
    await expect(sql`select 1 / ${0}::int`.execute(db)).rejects.toMatchObject({ code: "22012" });
  });

  test("a transaction that fails leaves nothing, and the next one works", async ({ db }) => {
    const failing = db.transaction().execute(async (transaction) => {
      await transaction
        .insertInto("providers")
        .values({ name: "q", dialect: "messages", baseUrl: "u", keyEnv: null, enabled: true })
        .execute();
      throw new Error("on purpose");
    });
    await expect(failing).rejects.toThrow("on purpose");
    expect(await db.selectFrom("providers").select("name").where("name", "=", "q").execute()).toEqual([]);
  });

  test("transactions that overlap do not see each other's half", async ({ db }) => {
    await sql`create table if not exists counter (n integer not null)`.execute(db);
    await sql`insert into counter values (0)`.execute(db);
    const addOne = () =>
      db.transaction().execute(async (transaction) => {
        const { rows } = await sql<{ n: number }>`select n from counter for update`.execute(transaction);
        await sql`update counter set n = ${(rows[0]?.n ?? 0) + 1}`.execute(transaction);
      });
    const reads = Array.from({ length: 30 }, () => sql`select n from counter`.execute(db));
    await Promise.all([...Array.from({ length: 30 }, addOne), ...reads]);
    expect((await sql`select n from counter`.execute(db)).rows).toEqual([{ n: 30 }]);
    await sql`drop table counter`.execute(db);
  });

  test("a value of 20 MB goes in and comes out whole", async ({ db }) => {
    const text = "aé😀".repeat(3_000_000);
    const { rows } = await sql<{ text: string }>`select ${text}::text as text`.execute(db);
    expect(rows[0]?.text === text).toBe(true);
  });

  test("migrating again, many at once, changes nothing", async ({ db }) => {
    await Promise.all(Array.from({ length: 5 }, () => migrate(db)));
    expect(await dumpSchema(db)).toBe(readFileSync(SCHEMA_FILE, "utf8"));
  });
});
