import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { openDatabase } from "../../../src/db/open-database.ts";
import { toSnapshotPath } from "../../../src/db/snapshot.ts";

// Databases on the tests' PostgreSQL: one migrated template for all, cloned for each test file.

const TEMPLATE_LOCK = 4_600_002;

export interface TestServerDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A new database of its own, migrated, on the server of `adminUrl`. */
export async function cloneTestDatabase(adminUrl: string, scratchDir: string): Promise<TestServerDatabase> {
  // Named by the migrations' hash, like the snapshot.
  const template = toSnapshotPath().replaceAll(/^.*-/g, "harnais_template_");
  await withAdmin(adminUrl, async (admin) => {
    await admin.query(`select pg_advisory_lock(${TEMPLATE_LOCK})`);
    const { rowCount } = await admin.query("select from pg_database where datname = $1", [template]);
    if (rowCount !== 0) return;
    const building = `${template}_new`;
    await admin.query(`drop database if exists ${building} with (force)`);
    await admin.query(`create database ${building}`);
    const database = await openDatabase({ dataDir: scratchDir, databaseUrl: toUrl(adminUrl, building) });
    await database.close();
    await admin.query(`alter database ${building} rename to ${template}`);
  });
  const name = `harnais_test_${randomBytes(6).toString("hex")}`;
  await withAdmin(adminUrl, (admin) => admin.query(`create database ${name} template ${template}`));
  return {
    url: toUrl(adminUrl, name),
    drop: () => withAdmin(adminUrl, async (admin) => void (await admin.query(`drop database ${name} with (force)`))),
  };
}

/** An empty database, not migrated. */
export async function createEmptyDatabase(adminUrl: string): Promise<TestServerDatabase> {
  const name = `harnais_test_${randomBytes(6).toString("hex")}`;
  await withAdmin(adminUrl, (admin) => admin.query(`create database ${name}`));
  return {
    url: toUrl(adminUrl, name),
    drop: () => withAdmin(adminUrl, async (admin) => void (await admin.query(`drop database ${name} with (force)`))),
  };
}

async function withAdmin<T>(adminUrl: string, work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

function toUrl(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  return url.href;
}
