import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// A migrated data folder, made once by the set-up: a first start copies it instead of paying for initdb. A plain folder
// and not an archive: copying it needs no PGlite, so that a base appears under its name complete or not at all.

const HERE = dirname(fileURLToPath(import.meta.url));
const MIGRATIONS_DIR = join(HERE, "migrations");
const CACHE_DIR = join(HERE, "..", "..", "..", "node_modules", ".cache", "harnais");

/** Where the snapshot of this code's migrations and PGlite is, made or not. */
export function toSnapshotPath(cacheDir: string = CACHE_DIR): string {
  const hash = createHash("sha256").update(readPgliteVersion());
  for (const file of readdirSync(MIGRATIONS_DIR).toSorted()) hash.update(file).update(readFileSync(join(MIGRATIONS_DIR, file)));
  return join(cacheDir, `pglite-${hash.digest("hex").slice(0, 16)}`);
}

/** Copies the snapshot to `folder`, which appears complete or not at all. False when there is no snapshot. */
export async function copySnapshot(folder: string, snapshot: string = toSnapshotPath()): Promise<boolean> {
  if (!existsSync(snapshot)) return false;
  const temporary = `${folder}.${process.pid}.tmp`;
  await rm(temporary, { recursive: true, force: true });
  try {
    await cp(snapshot, temporary, { recursive: true });
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true }); // a full disk must not stay full of it
    throw error;
  }
  return true;
}

/** Puts the finished base in `folder` where later first starts look for it. Whoever comes second throws theirs away. */
export async function storeSnapshot(folder: string, snapshot: string): Promise<void> {
  await mkdir(dirname(snapshot), { recursive: true });
  try {
    await rename(folder, snapshot);
  } catch (error) {
    if (!existsSync(snapshot)) throw error;
    await rm(folder, { recursive: true, force: true });
  }
}

/** Exact version of the PGlite that is installed. */
function readPgliteVersion(): string {
  const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const { version } = JSON.parse(readFileSync(join(dirname(entry), "..", "package.json"), "utf8")) as { version: string };
  return version;
}
