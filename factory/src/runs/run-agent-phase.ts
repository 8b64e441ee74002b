import { createSessionId, toJobId } from "@harnais/contracts/ids.ts";
import type { Json } from "@harnais/contracts/json.ts";
import { nanoToUsd } from "@harnais/contracts/money.ts";
import { normalizePhaseLabel } from "@harnais/contracts/phase-label.ts";
import type { AgentSpec, CorrectOptions, PhaseResult } from "@harnais/contracts/workflow.ts";
import type { Job, JobObserver, JobOutcome } from "../executor/job.ts";
import { parseAgentSpec } from "./agent-spec.ts";
import { saveAttemptProcess, savePhaseFacts } from "./event.sql.ts";
import { PhaseFailure, requireLease, RunCancelled } from "./run-failures.ts";
import { type AgentPhaseState, openPhase, phaseEvent, type RunDeps, type RunState } from "./run-state.ts";
import { toRetryCorrection } from "./workflows/correction.ts";

const MINUTE_MS = 60_000;
const DEFAULT_TIMEOUT_MS = 15 * MINUTE_MS;
const MAX_TIMEOUT_MS = 40 * MINUTE_MS;
const DEFAULT_IDLE_MS = 5 * MINUTE_MS;
const DEFAULT_LABEL = "agent";

/** A new agent phase: one session, one attempt, further ones in the live session while retries are left. */
export async function runAgentPhase(
  state: RunState,
  deps: RunDeps,
  { name, spec }: { name: string; spec: AgentSpec },
): Promise<PhaseResult> {
  const label = toLabel(parseAgentSpec(name, spec).label ?? DEFAULT_LABEL);
  const { phaseId } = await openPhase(state, { name, kind: "agent", retries: spec.retries ?? 0 });
  const phase: AgentPhaseState = {
    phaseId,
    name,
    spec,
    model: spec.model ?? state.model,
    sessionId: createSessionId(),
    attempts: 0,
    rounds: new Map(),
  };
  state.agentPhases.set(name, phase);
  await recordSession(state, phase);
  return runAttempts(state, deps, { phase, label, prompt: spec.prompt });
}

/** A further attempt of a finished agent phase, in its session (T9 `run.correct`). */
export async function correctAgentPhase(
  state: RunState,
  deps: RunDeps,
  { name, reason, options }: { name: string; reason: string; options: CorrectOptions },
): Promise<PhaseResult> {
  const phase = state.agentPhases.get(name);
  if (phase === undefined) throw new Error(`run.correct("${name}"): no agent phase of this name has run`);
  if (state.currentPhase !== undefined) throw new Error(`run.correct("${name}") while phase ${state.currentPhase} runs: await it first`);
  state.currentPhase = name;
  const label = toLabel(options.label);
  const round = (phase.rounds.get(label) ?? 0) + 1;
  phase.rounds.set(label, round);
  const of = options.of === undefined ? {} : { of: options.of };
  await state.recorder.record(phaseEvent(phase.phaseId, name, "phase_reopen", { reason: firstLine(reason), label, round, ...of }));
  return runAttempts(state, deps, { phase, label, prompt: reason });
}

interface AttemptPlan {
  readonly phase: AgentPhaseState;
  readonly label: string;
  /** What the first of these attempts says; later ones say why the one before failed. */
  readonly prompt: string;
}

async function runAttempts(state: RunState, deps: RunDeps, { phase, label, prompt }: AttemptPlan): Promise<PhaseResult> {
  const retries = phase.spec.retries ?? 0;
  let next = prompt;
  for (let tries = 0; ; tries++) {
    const outcome = await runAttempt(state, deps, { phase, label, prompt: next });
    if (outcome.type === "done") return endDone(state, deps, phase, outcome);
    if (outcome.type === "cancelled") {
      await endPhase(state, phase, "cancelled");
      throw state.signal.reason instanceof Error ? state.signal.reason : new RunCancelled(outcome.reason);
    }
    if (!outcome.retryable || tries >= retries) {
      await endPhase(state, phase, "failed");
      state.failure ??= new PhaseFailure(outcome.reason, outcome.cause);
      throw state.failure;
    }
    next = await toNextTry(state, phase, { prompt, reason: outcome.reason });
  }
}

/** What a further attempt is told, by the phase's policy. Default: in the same session, why the one before failed. */
async function toNextTry(state: RunState, phase: AgentPhaseState, { prompt, reason }: { prompt: string; reason: string }): Promise<string> {
  const policy = phase.spec.onFailure ?? "same-session";
  const correction = toRetryCorrection(reason, state.row.input);
  if (policy === "same-session") return correction;
  if (policy !== "fresh-session") phase.model = policy.model;
  phase.sessionId = createSessionId();
  await recordSession(state, phase);
  return `${prompt}\n\n${correction}`;
}

async function runAttempt(
  state: RunState,
  deps: RunDeps,
  { phase, label, prompt }: { phase: AgentPhaseState; label: string; prompt: string },
): Promise<JobOutcome> {
  const attempt = ++phase.attempts;
  const isFirstOfSession = state.sessions[phase.name] !== phase.sessionId;
  state.sessions[phase.name] = phase.sessionId;
  await state.recorder.record(phaseEvent(phase.phaseId, phase.name, "attempt_start", { attempt, label, session_id: phase.sessionId }));
  const job = toJob(state, { phase, label, prompt, attempt, resume: !isFirstOfSession });
  const outcome = await deps.runJob(job, toObserver(state, deps, { phase, attempt }), state.signal);
  const checkpoint =
    phase.spec.mode === "code"
      ? await deps.workbench.keep({ cwd: state.cwd, runId: state.row.runId, phaseName: phase.name, attempt })
      : null;
  await state.recorder.record(
    phaseEvent(phase.phaseId, phase.name, "phase_attempt", {
      attempt,
      ok: outcome.type === "done",
      status: outcome.type,
      cause: outcome.type === "failed" ? outcome.cause : outcome.type === "cancelled" ? "cancelled" : null,
      error: outcome.type === "done" ? null : outcome.reason,
      duration_ms: Math.round(outcome.durationMs),
      cost_usd: outcome.cost.nanoUsd === null ? null : nanoToUsd(outcome.cost.nanoUsd),
      cost_complete: outcome.cost.complete,
      tokens: outcome.tokens,
      label,
      calls: [...outcome.calls],
      ...(checkpoint === null ? {} : { checkpoint }),
    }),
  );
  // The session's lines and bills are mirrored while the run goes on; its end waits for the mirror.
  void deps.mirrorRun(state.row.runId);
  return outcome;
}

function toJob(
  state: RunState,
  { phase, label, prompt, attempt, resume }: { phase: AgentPhaseState; label: string; prompt: string; attempt: number; resume: boolean },
): Job {
  const { spec } = phase;
  const limits = spec.limits ?? {};
  return {
    jobId: toJobId(phase.phaseId as `${string}-${string}`, attempt),
    runId: state.row.runId,
    phaseId: phase.phaseId,
    attempt,
    harness: spec.agent ?? state.harness,
    model: phase.model,
    mode: spec.mode,
    label,
    prompt,
    firstPrompt: spec.prompt,
    sessionId: phase.sessionId,
    resume,
    cwd: state.cwd,
    limits: {
      timeoutMs: Math.min(limits.timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS),
      idleMs: limits.idleMs ?? DEFAULT_IDLE_MS,
      ...(limits.maxTurns === undefined ? {} : { maxTurns: limits.maxTurns }),
    },
    ...(spec.systemPrompt === undefined ? {} : { systemPrompt: spec.systemPrompt }),
    ...(spec.tools === undefined ? {} : { tools: spec.tools }),
    ...(spec.output === undefined ? {} : { output: spec.output }),
  };
}

function toObserver(state: RunState, deps: RunDeps, { phase, attempt }: { phase: AgentPhaseState; attempt: number }): JobObserver {
  return {
    async onStart({ pid, startTime }) {
      await saveAttemptProcess(deps.db, state.lease, { phaseId: phase.phaseId, attempt, pid, pidStarted: startTime });
      deps.log.info({ runId: state.row.runId, phase: phase.name, attempt, pid }, "agent started");
    },
    onProgress({ lastTool, turns, tools, tokens, cost }) {
      deps.feed.publish({
        seq: null,
        runId: state.row.runId,
        phaseId: phase.phaseId,
        type: "progress",
        name: phase.name,
        payload: { attempt, lastTool, turns, tools, tokens, costUsd: cost.nanoUsd === null ? null : nanoToUsd(cost.nanoUsd) },
        ts: new Date().toISOString(),
      });
    },
  };
}

async function recordSession(state: RunState, phase: AgentPhaseState): Promise<void> {
  await state.recorder.record(
    phaseEvent(phase.phaseId, phase.name, "phase_session", {
      session_id: phase.sessionId,
      attempt: phase.attempts + 1,
      harness: phase.spec.agent ?? state.harness,
    }),
  );
}

async function endDone(
  state: RunState,
  deps: RunDeps,
  phase: AgentPhaseState,
  outcome: Extract<JobOutcome, { type: "done" }>,
): Promise<PhaseResult> {
  const result: Json = outcome.value ?? outcome.text;
  state.results[phase.name] = result;
  requireLease(await savePhaseFacts(deps.db, state.lease, { phaseId: phase.phaseId, resultJson: JSON.stringify(result) }), state.row.runId);
  const money = await endPhase(state, phase, "done");
  return {
    phaseId: phase.phaseId,
    text: outcome.text,
    sessionId: phase.sessionId,
    ...money,
    ...(outcome.value === undefined ? {} : { value: outcome.value }),
  };
}

async function endPhase(
  state: RunState,
  phase: AgentPhaseState,
  status: "done" | "failed" | "cancelled",
): Promise<{ costUsd: number | null; tokens: number | null }> {
  const folded = state.recorder.folded?.phases.find((candidate) => candidate.phaseId === phase.phaseId);
  const money = { costUsd: folded?.costUsd ?? null, tokens: folded?.tokens ?? null };
  await state.recorder.record(
    phaseEvent(phase.phaseId, phase.name, "phase_end", {
      status,
      attempts: phase.attempts,
      cost_usd: money.costUsd,
      cost_complete: folded?.costComplete ?? false,
      tokens: money.tokens,
    }),
  );
  state.currentPhase = undefined;
  return money;
}

function toLabel(label: string): string {
  const normalized = normalizePhaseLabel(label);
  if (normalized === "") throw new PhaseFailure(`"${label}" is not a phase label: 1 to 32 of a-z, 0-9 and -`);
  return normalized;
}

const MAX_REASON_CHARS = 300;
const firstLine = (text: string): string => (text.split("\n", 1)[0] ?? "").slice(0, MAX_REASON_CHARS);
