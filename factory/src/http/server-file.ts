import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ServerFile, ServerFileSchema } from "@harnais/contracts/api-bodies.ts";

const NAME = "server.json";

/** `<data>/server.json` (D4): how a client of the same user finds the server. */
export function writeServerFile(dataDir: string, server: ServerFile): void {
  const file = join(dataDir, NAME);
  writeFileSync(`${file}.new`, `${JSON.stringify(server)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Removes the file if it is this process's own. */
export function removeServerFile(dataDir: string): void {
  if (readServerFile(dataDir)?.pid === process.pid) rmSync(join(dataDir, NAME), { force: true });
}

/** The server that said it serves this data folder; undefined when there is none, or its process is gone. */
export function readServerFile(dataDir: string): ServerFile | undefined {
  try {
    const parsed = ServerFileSchema.safeParse(JSON.parse(readFileSync(join(dataDir, NAME), "utf8")));
    return parsed.success && isAlive(parsed.data.pid) ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
