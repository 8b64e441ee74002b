import type { EventFrame } from "@harnais/contracts/api-bodies.ts";
import { formatUsd } from "@harnais/contracts/money.ts";
import { RUNNER_PAYLOADS } from "@harnais/contracts/runner-event.ts";

/** Lines for standard error from a run's events (T9); holds what the lines before said. */
export interface RunProgress {
  /** Whole lines to print for this event; none for most. */
  toLines(frame: EventFrame): string[];
  /** The live line of a `progress` frame: which phase, which attempt, last tool, tokens and money so far. */
  toLiveLine(frame: EventFrame): string | undefined;
}

interface PhaseInfo {
  readonly name: string;
  readonly kind: string;
  readonly retries: number;
  correction: { label: string; round: number; of: number } | undefined;
}

export function createRunProgress(): RunProgress {
  const phases = new Map<string, PhaseInfo>();
  let rehearsal = false;
  let failedPhase: string | undefined;
  const toTag = (frame: EventFrame): string => `[${frame.runId ?? ""}]`;

  const attemptOf = (phase: PhaseInfo, attempt: number): string =>
    phase.correction === undefined
      ? `attempt ${attempt}/${phase.retries + 1}`
      : `${phase.correction.label} ${phase.correction.round}/${phase.correction.of}`;

  const toFinish = (frame: EventFrame): string[] => {
    const finish = RUNNER_PAYLOADS.run_finish.safeParse(frame.payload).data;
    if (finish === undefined) return [];
    const total = formatUsd(finish.cost_usd, {
      complete: finish.cost_complete ?? true,
      ...(rehearsal ? { source: "rehearsal" } : {}),
    });
    if (finish.ok) return [`${toTag(frame)} run green — total ${total}`];
    if (finish.status === "cancelled") return [`${toTag(frame)} cancelled — total ${total}`];
    const where = failedPhase === undefined ? "" : ` in phase ${failedPhase}`;
    return [`${toTag(frame)} FAILED${where}, run stopped`, `${toTag(frame)} ${finish.reason ?? finish.cause ?? "no reason given"} — total ${total}`];
  };

  return {
    toLines(frame) {
      const phase = frame.phaseId === null ? undefined : phases.get(frame.phaseId);
      switch (frame.type) {
        case "run_start":
          rehearsal = frame.payload["rehearsal"] === true;
          return [`${toTag(frame)} ${frame.name ?? ""} on ${String(frame.payload["project"])} — level ${String(frame.payload["level"])}${rehearsal ? " — rehearsal model" : ""}`];
        case "phase_start": {
          const start = RUNNER_PAYLOADS.phase_start.safeParse(frame.payload).data;
          if (start === undefined || frame.phaseId === null) return [];
          phases.set(frame.phaseId, { name: start.name, kind: start.kind, retries: start.retries, correction: undefined });
          return [];
        }
        case "phase_reopen": {
          const reopen = RUNNER_PAYLOADS.phase_reopen.safeParse(frame.payload).data;
          if (reopen === undefined || phase === undefined) return [];
          phase.correction = { label: reopen.label, round: reopen.round ?? 1, of: reopen.of ?? reopen.round ?? 1 };
          return [`${toTag(frame)} ${phase.name} goes on in its session: ${reopen.reason}`];
        }
        case "phase_attempt": {
          const end = RUNNER_PAYLOADS.phase_attempt.safeParse(frame.payload).data;
          if (end === undefined || phase === undefined) return [];
          const head = `${toTag(frame)} ${phase.name} (${phase.kind}, ${attemptOf(phase, end.attempt)})`;
          return [end.ok ? `${head}: OK in ${toSeconds(end.duration_ms)}` : `${head}: ${end.status}: ${end.error ?? "no reason given"}`];
        }
        case "phase_end":
          failedPhase = frame.payload["status"] === "done" ? undefined : (phase?.name ?? failedPhase);
          return [];
        case "log":
          return [`${toTag(frame)} ${String(frame.payload["message"])}`];
        case "run_waiting":
          return [`${toTag(frame)} waits: ${String(frame.payload["question"] ?? frame.payload["reason"])}`];
        case "run_finish":
          return toFinish(frame);
        default:
          return [];
      }
    },
    toLiveLine(frame) {
      const phase = frame.phaseId === null ? undefined : phases.get(frame.phaseId);
      if (frame.type !== "progress" || phase === undefined) return undefined;
      const { attempt, lastTool, turns, tools, tokens, costUsd } = frame.payload as Record<string, number | string | null>;
      const parts = [
        attemptOf(phase, Number(attempt)),
        lastTool === null ? undefined : `last tool ${lastTool}`,
        `${turns} turns, ${tools} tools`,
        `${tokens ?? "?"} tokens`,
        formatUsd(costUsd as number | null, rehearsal ? { source: "rehearsal" } : {}),
      ];
      return `${toTag(frame)} ${phase.name}: ${parts.filter((part) => part !== undefined).join(" · ")}`;
    },
  };
}

const toSeconds = (ms: number | null): string => (ms === null ? "unknown time" : `${(ms / 1000).toFixed(1)} s`);
