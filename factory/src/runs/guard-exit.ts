import type { LiveRuns } from "./run-service.ts";

/**
 * A project's workflow is code in this process: one that calls `process.exit` must not look like a run that is done. The
 * result ends the guard. The run itself is ended by the next start.
 */
export function guardExit({ controllers }: LiveRuns): () => void {
  const guard = (exitCode: number): void => {
    if (controllers.size === 0) return;
    process.stderr.write(
      `harnais: the process was ended while ${[...controllers.keys()].join(", ")} ran: does a workflow call process.exit?\n`,
    );
    if (exitCode === 0) process.exitCode = 1;
  };
  process.on("exit", guard);
  return () => process.off("exit", guard);
}
