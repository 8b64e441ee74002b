import { setTimeout as delay } from "node:timers/promises";
import { findMarked, isAlive } from "./process-table.ts";
import type { ProcessMark } from "./process-table.ts";

const MAX_SWEEP_MS = 8000;
const PAUSE_MS = 20;
// One empty scan is not enough: a process may fork and leave while the list is being read.
const EMPTY_SCANS = 2;

export interface SweepResult {
  /** How many processes were ended. */
  readonly ended: number;
  /** Pids that are alive in spite of it: the caller says so. */
  readonly survivors: readonly number[];
}

/**
 * Ends, by SIGKILL, every process that carries the mark, wherever it fled (own session, own group, adopted by init),
 * until two scans in a row find none or `maxMs` are over. Never rejects for a process that is gone.
 */
export async function sweepMarked(mark: ProcessMark, maxMs: number = MAX_SWEEP_MS): Promise<SweepResult> {
  const killed = new Set<string>();
  const deadline = performance.now() + maxMs;
  let empty = 0;
  while (empty < EMPTY_SCANS && performance.now() < deadline) {
    const found = await findMarked(mark);
    empty = found.length === 0 ? empty + 1 : 0;
    for (const identity of found) {
      if (!isAlive(identity)) continue;
      killed.add(`${identity.pid} ${identity.startTime}`);
      kill(identity.pid, "SIGKILL");
    }
    if (found.length > 0) await delay(PAUSE_MS);
  }
  const left = empty < EMPTY_SCANS ? await findMarked(mark) : [];
  return { ended: killed.size, survivors: left.filter(isAlive).map(({ pid }) => pid) };
}

/** Sends a signal to the whole group of `pid`; nothing happens when it is gone. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  kill(-pid, signal);
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // gone since
  }
}
