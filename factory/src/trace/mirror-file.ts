import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { prepareDataDir } from "../db/data-dir.ts";
import { FactoryError } from "../lib/errors.ts";

/**
 * The SQLite file of the mirror: `<data>/factory.db`, whose folder is made, or the one that was named.
 * @throws bad-input when the named file cannot be one.
 */
export function toMirrorFile(dataDir: string, named: string | undefined): string {
  if (named === undefined) {
    prepareDataDir(dataDir);
    return join(dataDir, "factory.db");
  }
  const file = resolve(named);
  if (named.trim() === "") throw new FactoryError("bad-input", "--db: name a file, e.g. --db mirror.db", { field: "db" });
  if (!existsSync(dirname(file)))
    throw new FactoryError("bad-input", `--db: the folder ${dirname(file)} does not exist: make it first`, { field: "db" });
  if (existsSync(file) && !statSync(file).isFile()) throw new FactoryError("bad-input", `--db: ${file} is not a file`, { field: "db" });
  return file;
}
