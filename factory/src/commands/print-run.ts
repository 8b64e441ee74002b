import { formatUsd } from "@harnais/contracts/money.ts";
import type { AttemptReport, PhaseReport, RunReport } from "@harnais/contracts/run-report.ts";

/** A run for people: head, phases, attempts, with turns, tools, tokens and money. */
export function toRunLines(report: RunReport): string[] {
  const source = report.rehearsal ? "runner, rehearsal" : "runner";
  const money = formatUsd(report.costUsd, { complete: report.costComplete, source });
  const lines = [`run ${report.runId} (${report.workflow}) on ${report.project} — ${report.status} — ${money} — level ${report.level}`];
  if (report.requestId !== undefined) lines.push(`request ${report.requestId}`);
  if (report.reason !== undefined) lines.push(`reason: ${report.reason}${report.cause === undefined ? "" : ` (${report.cause})`}`);
  if (report.question !== undefined) lines.push(`waits for an answer: ${report.question}`);
  for (const phase of report.phases) lines.push(...toPhaseLines(phase, report.rehearsal));
  if (report.branch !== undefined) lines.push(`branch ${report.branch}`);
  if (report.commit !== undefined) lines.push(`commit ${report.commit}`);
  return lines;
}

function toPhaseLines(phase: PhaseReport, rehearsal: boolean): string[] {
  const seq = phase.phaseId.slice(-2);
  if (phase.kind === "code") {
    const [attempt] = phase.attempts;
    return [
      `${seq} ${phase.name}  code  ${phase.status}${attempt === undefined ? "" : `, ${toDuration(attempt.durationMs)}`}${toReason(attempt)}`,
    ];
  }
  const money = formatUsd(phase.costUsd, { complete: phase.costComplete, ...(rehearsal ? { source: "rehearsal" } : {}) });
  const head = `${seq} ${phase.name}  agent  ${phase.status}, ${phase.tokens ?? "unknown"} tokens, ${money}  session ${phase.sessions.join(", ")}`;
  return [head, ...phase.attempts.map((attempt) => `     ${toAttemptLine(attempt, rehearsal)}`)];
}

function toAttemptLine(attempt: AttemptReport, rehearsal: boolean): string {
  const activity = attempt.turns === undefined ? "" : `, ${attempt.turns} turns, ${attempt.tools ?? 0} tools`;
  const money = formatUsd(attempt.costUsd, { complete: attempt.costComplete, ...(rehearsal ? { source: "rehearsal" } : {}) });
  return `attempt ${attempt.attempt} (${attempt.label}): ${attempt.status} in ${toDuration(attempt.durationMs)}${activity}, ${attempt.tokens ?? "unknown"} tokens, ${money}${toReason(attempt)}`;
}

const toReason = (attempt: AttemptReport | undefined): string => (attempt?.reason === undefined ? "" : ` — ${attempt.reason}`);
const toDuration = (ms: number | null): string => (ms === null ? "unknown time" : `${(ms / 1000).toFixed(1)} s`);

/** One run of a list. */
export function toRunLine(report: RunReport): string {
  const money = formatUsd(report.costUsd, { complete: report.costComplete, ...(report.rehearsal ? { source: "rehearsal" } : {}) });
  return `${report.runId}  ${report.status.padEnd(9)}  ${report.workflow.padEnd(10)}  ${report.project.padEnd(16)}  ${money}  ${report.startedAt ?? "not started"}`;
}
