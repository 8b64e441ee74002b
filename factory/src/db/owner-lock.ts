import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FactoryError } from "../lib/errors.ts";
import { toStorageError } from "./data-dir.ts";

const FILE_MODE = 0o600;
// Several that try at one moment may all see each other's first step: whoever waits this long sees the winner.
const CONTENTION_MS = 200;
// SQLITE_BUSY, whatever its extended code.
const SQLITE_BUSY = 5;
const PRIMARY_CODE_MASK = 0xff;

export interface OwnerLock {
  release(): void;
}

/**
 * Becomes the one process that may open the embedded database of `dataDir`. PGlite itself has no lock: a second holder
 * would corrupt the base without an error. The lock is the kernel's, on `db.lock`: it ends with the process, however it ends.
 * @throws base-owned, naming the owner's pid; storage.
 */
export function takeOwnerLock(dataDir: string): OwnerLock {
  const ownerFile = join(dataDir, "owner.json");
  const lock = lockFile(dataDir, ownerFile);
  try {
    const temporary = `${ownerFile}.${process.pid}.tmp`;
    writeFileSync(temporary, `${JSON.stringify({ pid: process.pid, startedAt: new Date().toISOString() })}\n`, { mode: FILE_MODE });
    renameSync(temporary, ownerFile);
  } catch (error) {
    lock.close();
    throw toStorageError(dataDir, error);
  }
  return {
    release() {
      rmSync(ownerFile, { force: true });
      lock.close();
    },
  };
}

function lockFile(dataDir: string, ownerFile: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(dataDir, "db.lock"), { timeout: CONTENTION_MS });
    lock.exec("begin exclusive");
    chmodSync(join(dataDir, "db.lock"), FILE_MODE);
    return lock;
  } catch (error) {
    lock?.close();
    const code = (error as { errcode?: number }).errcode ?? 0;
    if ((code & PRIMARY_CODE_MASK) !== SQLITE_BUSY) throw toStorageError(dataDir, error);
    const owner = readOwnerPid(ownerFile);
    throw new FactoryError(
      "base-owned",
      `the database in ${dataDir} is in use by ${owner === undefined ? "another process" : `pid ${owner}`}: ` +
        "wait for its end, or start `harnais serve` once and let every command talk to it",
      { cause: error },
    );
  }
}

function readOwnerPid(ownerFile: string): number | undefined {
  try {
    const pid = (JSON.parse(readFileSync(ownerFile, "utf8")) as { pid?: unknown }).pid;
    return typeof pid === "number" ? pid : undefined;
  } catch {
    return undefined; // the owner has locked and not yet signed
  }
}
