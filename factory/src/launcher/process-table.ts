import { readdirSync, readFileSync } from "node:fs";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

export interface ProcessMark {
  readonly name: string;
  readonly value: string;
}

/** One process for good: a pid is given again, a pid with its start time is not. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string | null;
}

const SCAN_SLICE = 64;
// Fields of /proc/<pid>/stat are counted after the name, which may hold spaces and brackets itself (proc(5)).
const STATE_FIELD = 0;
const START_TIME_FIELD = 19;

/** Kernel start time of `pid` (field 22 of /proc/<pid>/stat); null when it is gone, a zombie, or off Linux. */
export function readStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[STATE_FIELD] === "Z" ? null : (fields[START_TIME_FIELD] ?? null);
  } catch {
    return null;
  }
}

/** Is this very process alive? False for another one that got its pid. */
export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  if (startTime !== null) return readStartTime(pid) === startTime;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's is alive all the same.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** This process. */
export const ownIdentity = (): ProcessIdentity => ({ pid: process.pid, startTime: readStartTime(process.pid) });

/** Every live process, but ourselves, whose environment holds the mark. */
export async function findMarked(mark: ProcessMark): Promise<readonly ProcessIdentity[]> {
  return process.platform === "linux" ? findMarkedInProc(mark) : findMarkedWithPs(mark);
}

async function findMarkedInProc({ name, value }: ProcessMark): Promise<readonly ProcessIdentity[]> {
  const entry = Buffer.from(`\0${name}=${value}\0`);
  const found: ProcessIdentity[] = [];
  let scanned = 0;
  for (const folder of readdirSync("/proc")) {
    const pid = Number(folder);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    if (++scanned % SCAN_SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
    const startTime = readStartTime(pid);
    if (startTime !== null && holdsEntry(pid, entry)) found.push({ pid, startTime });
  }
  return found;
}

function holdsEntry(pid: number, entry: Buffer): boolean {
  try {
    return Buffer.concat([Buffer.of(0), readFileSync(`/proc/${pid}/environ`), Buffer.of(0)]).includes(entry);
  } catch {
    return false; // gone since, or another user's
  }
}

// macOS: `-E` shows the environment after the command, for the user's own processes.
async function findMarkedWithPs({ name, value }: ProcessMark): Promise<readonly ProcessIdentity[]> {
  const { stdout } = await promisify(execFile)("/bin/ps", ["-axwwE", "-o", "pid=,command="], { maxBuffer: 64 * 1024 * 1024 });
  return stdout
    .split("\n")
    .filter((line) => ` ${line} `.includes(` ${name}=${value} `))
    .map((line) => ({ pid: Number.parseInt(line, 10), startTime: null }))
    .filter(({ pid }) => Number.isInteger(pid) && pid !== process.pid);
}
