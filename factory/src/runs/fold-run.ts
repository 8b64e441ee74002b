import type { RunnerLine } from "@harnais/contracts/journal-line.ts";
import { nanoToUsd, sumCosts, sumTokens, usdToNano } from "@harnais/contracts/money.ts";
import { type CountedCall, isRunnerEventType, RUNNER_PAYLOADS, type RunnerPayload } from "@harnais/contracts/runner-event.ts";
import type { AttemptEnd, ConfinementLevel, FailureCause, Harness, PhaseStatus, RunStatus } from "@harnais/contracts/statuses.ts";

// Rows are a fold of events (ADR 0001): the engine and the SQLite mirror use this one function, so that they cannot disagree.

export interface FoldedMoney {
  costUsd: number | null;
  costComplete: boolean;
  tokens: number | null;
}

export interface FoldedAttempt extends FoldedMoney {
  attempt: number;
  label: string;
  sessionId: string | null;
  status: AttemptEnd | "running";
  cause: FailureCause | null;
  reason: string | null;
  durationMs: number | null;
  checkpoint: string | null;
  calls: readonly CountedCall[];
  startedAt: string;
}

export interface FoldedSession {
  sessionId: string;
  attempt: number;
  harness: Harness;
}

export interface FoldedPhase extends FoldedMoney {
  phaseId: string;
  seq: number;
  name: string;
  callNo: number;
  kind: "agent" | "code";
  status: PhaseStatus;
  retries: number;
  sessions: FoldedSession[];
  attempts: FoldedAttempt[];
  startedAt: string;
  finishedAt: string | null;
}

export interface FoldedRun extends FoldedMoney {
  runId: string;
  workflow: string;
  /** First 500 characters of the input. */
  request: string;
  project: string;
  requestId: string | null;
  status: RunStatus;
  level: ConfinementLevel;
  rehearsal: boolean;
  cause: FailureCause | null;
  reason: string | null;
  question: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  phases: FoldedPhase[];
}

/** Rows of one run from its events in order; undefined when no event of it makes sense. Events that do not parse are left out. */
export function foldRun(lines: Iterable<RunnerLine>): FoldedRun | undefined {
  let folded: FoldedRun | undefined;
  for (const line of lines) folded = applyRunnerLine(folded, line);
  return folded;
}

/** Applies one event; changes and returns `folded`. */
export function applyRunnerLine(folded: FoldedRun | undefined, line: RunnerLine): FoldedRun | undefined {
  if (!isRunnerEventType(line.type)) return folded;
  const payload = RUNNER_PAYLOADS[line.type].safeParse(line.payload);
  if (!payload.success) return folded;
  const run = folded ?? emptyRun(line.run_id);
  if (line.phase_id === null) applyToRun(run, line, payload.data);
  else applyToPhase(run, line, line.phase_id, payload.data);
  return run;
}

const NO_MONEY: FoldedMoney = { costUsd: 0, costComplete: true, tokens: 0 };
/** A code phase spends nothing that could be counted: both NULL (D6). */
const CODE_MONEY: FoldedMoney = { costUsd: null, costComplete: true, tokens: null };

function emptyRun(runId: string): FoldedRun {
  return {
    runId,
    workflow: "",
    request: "",
    project: "",
    requestId: null,
    status: "queued",
    level: "none",
    rehearsal: false,
    cause: null,
    reason: null,
    question: null,
    startedAt: null,
    finishedAt: null,
    phases: [],
    ...NO_MONEY,
  };
}

const REQUEST_HEAD_CHARS = 500;

function applyToRun(run: FoldedRun, line: RunnerLine, payload: unknown): void {
  switch (line.type) {
    case "run_queued": {
      const queued = payload as RunnerPayload<"run_queued">;
      Object.assign(run, {
        workflow: queued.workflow,
        request: queued.input.slice(0, REQUEST_HEAD_CHARS),
        project: queued.project,
        requestId: queued.request_id,
      });
      return;
    }
    case "run_start": {
      const start = payload as RunnerPayload<"run_start">;
      Object.assign(run, { workflow: start.adw_name, request: start.request, project: start.project, requestId: start.request_id });
      Object.assign(run, {
        status: "running",
        level: start.level,
        rehearsal: start.rehearsal ?? false,
        startedAt: run.startedAt ?? line.ts,
      });
      return;
    }
    case "run_waiting":
      run.status = "waiting";
      run.question = (payload as RunnerPayload<"run_waiting">).question ?? null;
      return;
    case "run_resumed":
      run.status = "running";
      run.question = null;
      return;
    case "run_finish": {
      const finish = payload as RunnerPayload<"run_finish">;
      Object.assign(run, {
        status: finish.status,
        cause: finish.cause,
        reason: finish.reason ?? null,
        question: null,
        finishedAt: line.ts,
      });
      Object.assign(run, toMoney(finish));
      return;
    }
    default:
      return;
  }
}

function applyToPhase(run: FoldedRun, line: RunnerLine, phaseId: string, payload: unknown): void {
  if (line.type === "phase_start") {
    startPhase(run, line, phaseId, payload as RunnerPayload<"phase_start">);
    return;
  }
  const phase = run.phases.find((candidate) => candidate.phaseId === phaseId);
  if (phase === undefined) return;
  switch (line.type) {
    case "phase_session": {
      const { session_id: sessionId, attempt, harness } = payload as RunnerPayload<"phase_session">;
      if (!phase.sessions.some((session) => session.sessionId === sessionId)) phase.sessions.push({ sessionId, attempt, harness });
      return;
    }
    case "attempt_start":
      startAttempt(phase, line.ts, payload as RunnerPayload<"attempt_start">);
      return;
    case "phase_attempt":
      endAttempt(phase, line.ts, payload as RunnerPayload<"phase_attempt">);
      recount(run);
      return;
    case "phase_reopen":
      phase.status = "running";
      phase.finishedAt = null;
      return;
    case "phase_end": {
      const end = payload as RunnerPayload<"phase_end">;
      phase.status = end.status;
      phase.finishedAt = line.ts;
      Object.assign(phase, phase.kind === "code" ? CODE_MONEY : toMoney(end));
      recount(run);
      return;
    }
    default:
      return;
  }
}

function startPhase(run: FoldedRun, line: RunnerLine, phaseId: string, start: RunnerPayload<"phase_start">): void {
  if (run.phases.some((phase) => phase.phaseId === phaseId)) return;
  run.phases.push({
    phaseId,
    seq: start.seq,
    name: start.name,
    callNo: start.call_no ?? 1 + run.phases.filter((phase) => phase.name === start.name).length,
    kind: start.kind,
    status: "running",
    retries: start.retries,
    sessions: [],
    attempts: [],
    startedAt: line.ts,
    finishedAt: null,
    ...(start.kind === "code" ? CODE_MONEY : NO_MONEY),
  });
}

function startAttempt(phase: FoldedPhase, ts: string, start: RunnerPayload<"attempt_start">): void {
  if (phase.attempts.some((attempt) => attempt.attempt === start.attempt)) return;
  phase.attempts.push({
    attempt: start.attempt,
    label: start.label,
    sessionId: start.session_id,
    status: "running",
    cause: null,
    reason: null,
    durationMs: null,
    checkpoint: null,
    calls: [],
    startedAt: ts,
    ...CODE_MONEY,
  });
}

function endAttempt(phase: FoldedPhase, ts: string, end: RunnerPayload<"phase_attempt">): void {
  // A journal may lack the start of an attempt (torn line): its end still counts.
  startAttempt(phase, ts, { attempt: end.attempt, label: end.label, session_id: phase.sessions.at(-1)?.sessionId ?? null });
  const attempt = phase.attempts.find((candidate) => candidate.attempt === end.attempt);
  if (attempt === undefined) return;
  Object.assign(attempt, {
    status: end.status,
    cause: end.cause,
    reason: end.error,
    durationMs: end.duration_ms,
    checkpoint: end.checkpoint ?? null,
    calls: end.calls ?? [],
    ...toMoney(end),
  });
  if (phase.kind === "agent") Object.assign(phase, sumMoney(phase.attempts.filter((candidate) => candidate.status !== "running")));
}

/** Totals of a run that has not finished: the sum over its agent phases. */
function recount(run: FoldedRun): void {
  Object.assign(run, sumMoney(run.phases.filter((phase) => phase.kind === "agent")));
}

function sumMoney(parts: readonly FoldedMoney[]): FoldedMoney {
  const { nanoUsd, complete } = sumCosts(parts.map((part) => (part.costUsd === null ? null : usdToNano(part.costUsd))));
  return {
    costUsd: nanoUsd === null ? null : nanoToUsd(nanoUsd),
    costComplete: complete && parts.every((part) => part.costComplete),
    tokens: sumTokens(parts.map((part) => part.tokens)),
  };
}

function toMoney(payload: { cost_usd: number | null; cost_complete?: boolean | undefined; tokens: number | null }): FoldedMoney {
  return { costUsd: payload.cost_usd, costComplete: payload.cost_complete ?? payload.cost_usd !== null, tokens: payload.tokens };
}
