import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { dumpSchema } from "../factory/src/db/dump-schema.sql.ts";
import { openDatabase } from "../factory/src/db/open-database.ts";

// Writes factory/src/db/schema.sql: run it after a new migration.

const SCHEMA_FILE = join(dirname(fileURLToPath(import.meta.url)), "..", "factory", "src", "db", "schema.sql");

const dataDir = mkdtempSync(join(tmpdir(), "harnais-schema-"));
try {
  const database = await openDatabase({ dataDir, databaseUrl: undefined });
  writeFileSync(SCHEMA_FILE, await dumpSchema(database.db));
  await database.close();
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
