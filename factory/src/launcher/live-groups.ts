import { killGroup } from "./sweep.ts";

// Process groups that we lead: they end with us, however politely we leave. (After a SIGKILL of ours, recovery sweeps.)
const live = new Set<number>();

function killAll(): void {
  for (const pid of live) killGroup(pid, "SIGKILL");
}

/** Ends the group of `pid` when our own process exits. Returns the undoing. */
export function endWithUs(pid: number): () => void {
  if (live.size === 0) process.on("exit", killAll);
  live.add(pid);
  return () => {
    live.delete(pid);
    if (live.size === 0) process.off("exit", killAll);
  };
}
