import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FactoryError, messageOf } from "../lib/errors.ts";
import { makeFolder } from "../lib/make-folder.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Makes the data folder: the user's only, and out of every repository's sight. A folder that held something before it
 * became ours keeps its mode.
 * @throws storage, naming the folder.
 */
export function prepareDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir, FOLDER_MODE);
    if (existsSync(join(dataDir, ".gitignore"))) return;
    if (readdirSync(dataDir).length === 0) chmodSync(dataDir, FOLDER_MODE);
    writeFileSync(join(dataDir, ".gitignore"), "*\n", { mode: FILE_MODE });
  } catch (error) {
    throw toStorageError(dataDir, error);
  }
}

/** A failure of the file system, or of SQLite on it, told with the folder and the mend. */
export function toStorageError(dataDir: string, error: unknown): FactoryError {
  return new FactoryError(
    "storage",
    `the data folder ${dataDir} cannot be used (${messageOf(error)}): make it writable, free some space, or name another with HARNAIS_DATA_DIR`,
    { cause: error },
  );
}

const STORAGE_CODES = new Set(["ENOSPC", "EROFS", "EDQUOT", "EACCES", "EPERM", "EIO", "ENOTDIR"]);

/** Whether the file system refused a file of ours: full, read-only, not permitted, broken. A program that does not start is no such case. */
export function isStorageError(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
  const call = "syscall" in error && typeof error.syscall === "string" ? error.syscall : "";
  return STORAGE_CODES.has(error.code) && call !== "" && !call.startsWith("spawn");
}
