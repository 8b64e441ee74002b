import type { FailureCause } from "@harnais/contracts/statuses.ts";
import { JournalUnwritable } from "./run-failures.ts";
import type { RunRecorder } from "./run-recorder.ts";
import { phaseEvent } from "./run-state.ts";

/** Records what a run's end interrupted: no phase or attempt of a finished run stays `running`. What they spent is unknown. */
export async function endOpenPhases(recorder: RunRecorder, { cause, reason }: { cause: FailureCause; reason: string }): Promise<void> {
  for (const phase of recorder.folded?.phases ?? []) {
    if (phase.status !== "running") continue;
    for (const attempt of phase.attempts.filter(({ status }) => status === "running")) {
      const event = phaseEvent(phase.phaseId, phase.name, "phase_attempt", {
        attempt: attempt.attempt,
        ok: false,
        status: "interrupted",
        cause,
        error: reason,
        duration_ms: null,
        cost_usd: null,
        cost_complete: phase.kind === "code",
        tokens: null,
        label: attempt.label,
        calls: [],
      });
      await recordTolerant(recorder, event);
    }
    const money = { cost_usd: phase.costUsd, cost_complete: phase.kind === "code", tokens: phase.tokens };
    await recordTolerant(
      recorder,
      phaseEvent(phase.phaseId, phase.name, "phase_end", { status: "interrupted", attempts: phase.attempts.length, ...money }),
    );
  }
}

/** A journal that cannot be written does not keep the database from knowing the end. */
async function recordTolerant(recorder: RunRecorder, event: Parameters<RunRecorder["record"]>[0]): Promise<void> {
  await recorder.record(event).catch((error: unknown) => {
    if (!(error instanceof JournalUnwritable)) throw error;
  });
}
