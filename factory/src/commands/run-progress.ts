import type { EventFrame } from "@harnais/contracts/api-bodies.ts";
import { formatUsd } from "@harnais/contracts/money.ts";
import { RUNNER_PAYLOADS, type RunnerEventType, type RunnerPayload } from "@harnais/contracts/runner-event.ts";

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

/** What the lines so far have said of the run. */
interface Said {
  readonly phases: Map<string, PhaseInfo>;
  rehearsal: boolean;
  lastPhase: string | undefined;
}

export function createRunProgress(): RunProgress {
  const said: Said = { phases: new Map(), rehearsal: false, lastPhase: undefined };
  return {
    toLines: (frame) => toLines(said, frame).map((line) => `[${frame.runId ?? ""}] ${line}`),
    toLiveLine(frame) {
      const phase = frame.phaseId === null ? undefined : said.phases.get(frame.phaseId);
      return frame.type !== "progress" || phase === undefined ? undefined : toLiveLine(frame, phase, said.rehearsal);
    },
  };
}

function toLines(said: Said, frame: EventFrame): string[] {
  const phase = frame.phaseId === null ? undefined : said.phases.get(frame.phaseId);
  switch (frame.type) {
    case "run_start":
      return toStartLines(said, frame);
    case "phase_start": {
      const start = read(frame, "phase_start");
      if (start !== undefined && frame.phaseId !== null) said.phases.set(frame.phaseId, { ...start, correction: undefined });
      return [];
    }
    case "phase_reopen": {
      const reopen = read(frame, "phase_reopen");
      if (reopen === undefined || phase === undefined) return [];
      phase.correction = { label: reopen.label, round: reopen.round ?? 1, of: reopen.of ?? reopen.round ?? 1 };
      return [`${phase.name} goes on in its session: ${reopen.reason}`];
    }
    case "phase_attempt": {
      const end = read(frame, "phase_attempt");
      if (end === undefined || phase === undefined) return [];
      const head = `${phase.name} (${phase.kind}, ${toAttempt(phase, end.attempt)})`;
      if (!end.ok) return [`${head}: ${end.status}: ${end.error ?? "no reason given"}`];
      return [`${head}: OK in ${toSeconds(end.duration_ms)}`, ...(end.note === undefined ? [] : [`${phase.name}: ${end.note}`])];
    }
    case "phase_end":
      // A run may also fail right after a phase that ended well (a validation that stays red).
      said.lastPhase = phase?.name;
      return [];
    case "run_waiting":
      return [`waits: ${read(frame, "run_waiting")?.question ?? "for a person"}`];
    case "run_finish":
      return toFinishLines(said, frame);
    case "log":
      return typeof frame.payload["message"] === "string" ? [frame.payload["message"]] : [];
    default:
      return [];
  }
}

function toStartLines(said: Said, frame: EventFrame): string[] {
  const start = read(frame, "run_start");
  if (start === undefined) return [];
  said.rehearsal = start.rehearsal ?? false;
  return [`${start.adw_name} on ${start.project} — level ${start.level}${said.rehearsal ? " — rehearsal model" : ""}`];
}

function toFinishLines(said: Said, frame: EventFrame): string[] {
  const finish = read(frame, "run_finish");
  if (finish === undefined) return [];
  const source = said.rehearsal ? { source: "rehearsal" } : {};
  const total = formatUsd(finish.cost_usd, { complete: finish.cost_complete ?? true, ...source });
  if (finish.ok) return [`run green — total ${total}`];
  if (finish.status === "cancelled") return [`cancelled: ${finish.reason ?? "no reason given"} — total ${total}`];
  const where = said.lastPhase === undefined ? "" : ` in phase ${said.lastPhase}`;
  return [`FAILED${where}, run stopped`, `${finish.reason ?? finish.cause ?? "no reason given"} — total ${total}`];
}

function toLiveLine(frame: EventFrame, phase: PhaseInfo, rehearsal: boolean): string {
  const { attempt, lastTool, turns, tools, tokens, costUsd } = frame.payload as Record<string, number | string | null>;
  const parts = [
    toAttempt(phase, Number(attempt)),
    ...(lastTool === null ? [] : [`last tool ${lastTool}`]),
    `${turns} turns, ${tools} tools`,
    `${tokens ?? "?"} tokens`,
    formatUsd(costUsd as number | null, rehearsal ? { source: "rehearsal" } : {}),
  ];
  return `[${frame.runId ?? ""}] ${phase.name}: ${parts.join(" · ")}`;
}

function toAttempt({ correction, retries }: PhaseInfo, attempt: number): string {
  return correction === undefined ? `attempt ${attempt}/${retries + 1}` : `${correction.label} ${correction.round}/${correction.of}`;
}

function read<Type extends RunnerEventType>(frame: EventFrame, type: Type): RunnerPayload<Type> | undefined {
  return RUNNER_PAYLOADS[type].safeParse(frame.payload).data as RunnerPayload<Type> | undefined;
}

const toSeconds = (ms: number | null): string => (ms === null ? "unknown time" : `${(ms / 1000).toFixed(1)} s`);
