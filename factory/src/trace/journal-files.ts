import { readdirSync } from "node:fs";
import { join } from "node:path";

/** `harness`: what a CLI says of itself · `run`: the runner's events · `bill`: what the proxy saw. */
export type JournalKind = "harness" | "run" | "bill";

export interface JournalFile {
  readonly kind: JournalKind;
  /** Absolute. */
  readonly path: string;
  /** Relative to the data folder: the key under which the mirrors remember it, so that the folder can be moved. */
  readonly key: string;
}

const FOLDERS: Readonly<Record<JournalKind, string>> = { run: "traces", harness: "traces/harness", bill: "traces/bills" };

/** Every journal of a data folder, runner's first, each kind by name; a folder that is not there has none. */
export function listJournalFiles(dataDir: string): readonly JournalFile[] {
  return (["run", "harness", "bill"] as const).flatMap((kind) => listFolder(dataDir, kind));
}

/** The journal of one session, run or day. */
export function toJournalFile(dataDir: string, kind: JournalKind, name: string): JournalFile {
  const key = `${FOLDERS[kind]}/${name}.jsonl`;
  return { kind, key, path: join(dataDir, key) };
}

function listFolder(dataDir: string, kind: JournalKind): JournalFile[] {
  let names: string[];
  try {
    names = readdirSync(join(dataDir, FOLDERS[kind]));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
  return names
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .map((name) => toJournalFile(dataDir, kind, name.slice(0, -".jsonl".length)));
}
