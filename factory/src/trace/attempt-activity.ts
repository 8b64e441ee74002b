import { loadRun, type TraceSource } from "./load-run.ts";
import { splitAttempts } from "./split-attempts.ts";

/** What a harness trace counts of one attempt. */
export interface AttemptActivity {
  readonly turns: number;
  readonly tools: number;
}

/** Turns and tool calls by phase and attempt, as `<phase_id>/<attempt>`; an attempt without trace is not in it. */
export async function countActivity(source: TraceSource, runId: string): Promise<ReadonlyMap<string, AttemptActivity>> {
  const run = await loadRun(source, runId);
  const counted = (run?.phases ?? []).flatMap((phase) =>
    splitAttempts(phase).map(({ attempt, turns, tools }): [string, AttemptActivity] => [`${phase.phaseId}/${attempt}`, { turns, tools }]),
  );
  return new Map(counted);
}
