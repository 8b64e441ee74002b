import type { RunReport } from "@harnais/contracts/run-report.ts";
import type { FoldedPhase, FoldedRun } from "./fold-run.ts";
import type { RunRow } from "./run.sql.ts";

/** Turns and tool calls by `<phase_id>/<attempt>`, as the harness traces count them. */
export type Activity = ReadonlyMap<string, { readonly turns: number; readonly tools: number }>;

/** One run as the API and `--json` give it (D4). */
export function toRunReport(row: RunRow, folded: FoldedRun | undefined, activity: Activity = new Map()): RunReport {
  return {
    runId: row.runId,
    workflow: row.workflow,
    project: row.projectId,
    status: row.status,
    level: row.level,
    rehearsal: row.rehearsal,
    costUsd: row.costUsd,
    costComplete: row.costComplete,
    tokens: row.tokens,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    phases: (folded?.phases ?? []).map((phase) => toPhaseReport(phase, activity)),
    ...present({
      requestId: row.requestId,
      branch: row.branch,
      commit: row.commitSha,
      question: row.question,
      text: row.resultText,
      cause: row.cause,
      reason: row.reason,
    }),
  };
}

function toPhaseReport(phase: FoldedPhase, activity: Activity): RunReport["phases"][number] {
  return {
    phaseId: phase.phaseId,
    name: phase.name,
    kind: phase.kind,
    status: phase.status,
    costUsd: phase.costUsd,
    costComplete: phase.costComplete,
    tokens: phase.tokens,
    sessions: phase.sessions.map((session) => session.sessionId),
    attempts: phase.attempts.map((attempt) => ({
      attempt: attempt.attempt,
      status: attempt.status,
      label: attempt.label,
      durationMs: attempt.durationMs,
      costUsd: attempt.costUsd,
      costComplete: attempt.costComplete,
      tokens: attempt.tokens,
      ...activity.get(`${phase.phaseId}/${attempt.attempt}`),
      ...present({ reason: attempt.reason, cause: attempt.cause, checkpoint: attempt.checkpoint }),
    })),
  };
}

type Present<Fields> = { [Key in keyof Fields]?: NonNullable<Fields[Key]> };

/** The fields that are not null. */
function present<Fields extends Record<string, unknown>>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Present<Fields>;
}
