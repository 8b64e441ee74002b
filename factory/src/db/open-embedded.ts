import { chmodSync, existsSync, readdirSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { Pool } from "pg";
import { FactoryError, messageOf } from "../lib/errors.ts";
import { createKysely } from "./create-kysely.ts";
import { isStorageError, prepareDataDir, toStorageError } from "./data-dir.ts";
import { takeOwnerLock } from "./owner-lock.ts";
import { startPglite } from "./pglite-host.ts";
import type { PgliteHost } from "./pglite-host.ts";
import { PgliteStream } from "./pglite-stream.ts";
import { copySnapshot, toSnapshotPath } from "./snapshot.ts";
import type { Tables } from "./tables.ts";
import { guardPool, guardTransactions } from "./transaction-guard.ts";
import { typeParsers } from "./type-parsers.ts";

const FOLDER_MODE = 0o700;

interface EmbeddedDatabase {
  readonly db: Kysely<Tables>;
  close(): Promise<void>;
}

interface EmbeddedOptions {
  /** A base to start from; null: none, make one. Default: the one that the set-up made, if any. */
  readonly snapshot?: string | null;
}

/**
 * Opens the embedded base of `dataDir` (its `db/`), alone and not migrated.
 * @throws base-owned, storage.
 */
export async function openEmbedded(dataDir: string, { snapshot = toSnapshotPath() }: EmbeddedOptions = {}): Promise<EmbeddedDatabase> {
  prepareDataDir(dataDir);
  const lock = takeOwnerLock(dataDir);
  let host: PgliteHost;
  try {
    const folder = join(dataDir, "db");
    if (!existsSync(folder)) await createBase(dataDir, folder, snapshot);
    chmodSync(folder, FOLDER_MODE);
    host = await startPglite(folder).catch((error: unknown) => {
      throw toDamaged(folder, error);
    });
  } catch (error) {
    lock.release();
    throw isStorageError(error) ? toStorageError(dataDir, error) : error;
  }
  // One client: the pool's queue is the mutex. It never idles out, the session must not change under anybody's feet.
  const pool = new Pool({ max: 1, idleTimeoutMillis: 0, types: typeParsers, stream: () => new PgliteStream(host) });
  pool.on("error", () => undefined); // the next query gets the same error, with a caller to tell
  const db = guardTransactions(createKysely(guardPool(pool)));
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await db.destroy();
    await host.close();
    lock.release();
  };
  return { db, close: () => (closing ??= close()) };
}

/** The folder is there and may be written, by what comes before: what is in it is not a base that starts. */
function toDamaged(folder: string, error: unknown): unknown {
  if (isStorageError(error) || error instanceof FactoryError) return error;
  return new FactoryError(
    "storage",
    `the database in ${folder} does not start (${messageOf(error)}): if the disk has room, put a copy of the folder back or move it away`,
    { cause: error },
  );
}

/** Makes `db/` under another name first: a first start that is killed leaves nothing that looks like a base. */
async function createBase(dataDir: string, folder: string, snapshot: string | null): Promise<void> {
  for (const name of readdirSync(dataDir)) if (/^db\.\d+\.tmp$/.test(name)) await rm(join(dataDir, name), { recursive: true, force: true });
  if (snapshot !== null && (await copySnapshot(folder, snapshot))) return;
  const temporary = `${folder}.${process.pid}.tmp`;
  const host = await startPglite(temporary);
  await host.close();
  await rename(temporary, folder);
}
