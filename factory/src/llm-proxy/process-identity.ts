import { readFileSync } from "node:fs";

/** A process for good: a pid alone comes again. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Kernel start time in clock ticks since boot; null where /proc does not tell. */
  readonly started: string | null;
}

/** This process. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, started: startOf(process.pid) };
}

/** False when that very process is surely gone. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  const current = startOf(pid);
  return started === null || current === null || current === started;
}

/** proc(5): field 22 of stat; the command in brackets may hold spaces and brackets. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
