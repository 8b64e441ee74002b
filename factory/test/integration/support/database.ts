// oxlint-disable vitest/valid-describe-callback, vitest/no-conditional-tests, vitest/no-disabled-tests, vitest/expect-expect
// This file makes test functions, it holds no test.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { test as baseTest, describe } from "vitest";
import { makeSnapshot } from "../../../src/db/make-snapshot.ts";
import { openDatabase } from "../../../src/db/open-database.ts";
import type { Database } from "../../../src/db/open-database.ts";
import type { Tables } from "../../../src/db/tables.ts";
import { cloneTestDatabase } from "./test-server.sql.ts";

export type Base = "embedded" | "server";

/** Admin URL of the tests' PostgreSQL; undefined: there is none on this machine. */
export const TEST_SERVER_URL = process.env["HARNAIS_TEST_DATABASE_URL"] || undefined;
const IS_ALL_REQUIRED = process.env["HARNAIS_REQUIRE"] === "all";

export interface TestDatabase {
  readonly database: Database;
  /** Empty, migrated; null for the embedded base. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  close(): Promise<void>;
}

/** A migrated database of its own; `close` removes it. */
export async function openTestDatabase(base: Base): Promise<TestDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), "harnais-db-"));
  const clone = base === "server" ? await cloneTestDatabase(requireServerUrl(), dataDir) : undefined;
  if (base === "embedded") await makeSnapshot();
  const database = await openDatabase({ dataDir, databaseUrl: clone?.url });
  return {
    database,
    databaseUrl: clone?.url,
    dataDir,
    async close() {
      await database.close();
      await clone?.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const toTest = (base: Base) =>
  baseTest.extend<{ $file: { testDatabase: TestDatabase; database: Database; db: Kysely<Tables> } }>({
    testDatabase: [
      // oxlint-disable-next-line no-empty-pattern -- vitest reads the fixture's needs from the pattern
      async ({}, use) => {
        const testDatabase = await openTestDatabase(base);
        await use(testDatabase);
        await testDatabase.close();
      },
      { scope: "file" },
    ],
    database: [async ({ testDatabase }, use) => use(testDatabase.database), { scope: "file" }],
    db: [async ({ testDatabase }, use) => use(testDatabase.database.db), { scope: "file" }],
  });

// At the top of the module: vitest opens a fixture of the whole file nowhere else, and only when a test asks for it.
const TESTS = { embedded: toTest("embedded"), server: toTest("server") };

export type DatabaseTest = typeof TESTS.embedded;

/**
 * The same tests on the embedded base and on a PostgreSQL server (HARNAIS_TEST_DATABASE_URL), each with a database that
 * the tests of one file share: `describeOnBases("leases", (test) => test("…", async ({ db }) => …))`. Without a server its
 * half is skipped, or fails where HARNAIS_REQUIRE=all.
 */
export function describeOnBases(title: string, define: (test: DatabaseTest, base: Base) => void): void {
  describe(`${title} (embedded base)`, () => define(TESTS.embedded, "embedded"));
  if (TEST_SERVER_URL !== undefined) describe(`${title} (PostgreSQL server)`, () => define(TESTS.server, "server"));
  else if (IS_ALL_REQUIRED) baseTest(`${title} (PostgreSQL server)`, () => void requireServerUrl());
  else describe.skip(`${title} (PostgreSQL server: HARNAIS_TEST_DATABASE_URL is not set)`, () => define(TESTS.server, "server"));
}

function requireServerUrl(): string {
  if (TEST_SERVER_URL !== undefined) return TEST_SERVER_URL;
  throw new Error("HARNAIS_TEST_DATABASE_URL is not set: scripts/ci-postgres.sh start FOLDER prints one");
}
