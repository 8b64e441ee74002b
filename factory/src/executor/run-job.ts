import { rm } from "node:fs/promises";
import type { Json } from "@harnais/contracts/json.ts";
import type { Logger } from "pino";
import { type Agents, findAgent } from "../agents/registry.ts";
import { STRUCTURED_REPAIR_LABEL } from "../ai/structured.ts";
import type { Config } from "../config.ts";
import type { Launcher } from "../launcher/process.ts";
import { messageOf } from "../lib/errors.ts";
import type { Redactor } from "../lib/redaction.ts";
import type { LlmProxy } from "../llm-proxy/proxy-port.ts";
import { type CallBook, createCallBook } from "./call-book.ts";
import { checkOwed, type OwedDeps } from "./check-owed.ts";
import { followAttempt } from "./follow-attempt.ts";
import type { Job, JobObserver, JobOutcome, RunJob } from "./job.ts";
import { createLabelMarker, type LabelMarker } from "./label-marker.ts";
import { type AttemptFailure, judgeAttempt, toBug, toFailure } from "./judge-attempt.ts";
import { prepareAttempt, SESSION_MARK } from "./prepare-attempt.ts";

export interface RunJobDeps extends OwedDeps {
  readonly config: Pick<Config, "baseEnv">;
  readonly launcher: Launcher;
  readonly agents: Agents;
  readonly proxy: LlmProxy;
  readonly redactor: Redactor;
  /** Absolute; holds agents/, logs/, traces/. */
  readonly dataDir: string;
  readonly log: Logger;
}

/** How an attempt ended, without its figures. */
type Ending = { readonly type: "done"; readonly value?: Json } | AttemptFailure | { readonly type: "cancelled"; readonly reason: string };

interface Attempt {
  readonly job: Job;
  readonly observer: JobObserver;
  readonly book: CallBook;
  readonly log: Logger;
  /** Where the attempt is: `starting`, the job's label, `structured-repair` while owed output is read. */
  readonly marker: LabelMarker;
  /** The CLI's last text, as it was said. */
  text: string;
}

const MAX_REASON_CHARS = 500;

/** The executor: carries out one attempt of an agent phase after the other (contract: `RunJob`). */
export function createRunJob(deps: RunJobDeps): RunJob {
  const liveSessions = new Set<string>();
  return async (job, observer, signal) => {
    const startedAt = performance.now();
    const log = deps.log.child({ runId: job.runId, phaseId: job.phaseId, attempt: job.attempt });
    const attempt: Attempt = { job, observer, book: createCallBook(job.label), log, marker: createLabelMarker("starting"), text: "" };
    const isFree = !liveSessions.has(job.sessionId);
    liveSessions.add(job.sessionId);
    const ending = isFree ? await endAttempt(attempt, deps, signal) : toInUse(job);
    if (isFree) liveSessions.delete(job.sessionId);
    log.info({ label: attempt.marker.currentPhase(), ended: ending.type, ms: attempt.marker.durations() }, "attempt ended");
    return toOutcome(attempt, ending, { durationMs: performance.now() - startedAt, redactor: deps.redactor });
  };
}

const toInUse = ({ sessionId }: Job): AttemptFailure => ({
  type: "failed",
  cause: "agent",
  reason: `session ${sessionId} has a live process already: one process per session`,
  retryable: false,
});

/** Never rejects; when it resolves the process is gone and its bills are closed. */
async function endAttempt(attempt: Attempt, deps: RunJobDeps, signal: AbortSignal): Promise<Ending> {
  const ending = await carryOut(attempt, deps, signal).catch((error: unknown): Ending => {
    const failure = toFailure(error);
    if (failure !== undefined || signal.aborted) return failure ?? toBug(error);
    attempt.log.error({ err: error }, "attempt ended by a bug");
    return toBug(error);
  });
  await deps.proxy
    .settleRun(attempt.job.runId)
    .catch((error: unknown) => attempt.log.error({ error: messageOf(error) }, "the run's bills could not be settled"));
  return signal.aborted ? { type: "cancelled", reason: toCancelReason(signal) } : ending;
}

async function carryOut(attempt: Attempt, deps: RunJobDeps, signal: AbortSignal): Promise<Ending> {
  const { job, observer, book, log } = attempt;
  signal.throwIfAborted();
  const agent = findAgent(deps.agents, job.harness);
  // What a factory that crashed left behind in this session.
  if (job.resume) warnOfSurvivors(await deps.launcher.sweep({ name: SESSION_MARK, value: job.sessionId }), log);
  const prepared = await prepareAttempt(job, { ...deps, log }, agent);
  try {
    attempt.marker.onPhase(job.label);
    const context = { launcher: deps.launcher, redactor: deps.redactor, log, book, observer, maxTurns: job.limits.maxTurns };
    const facts = await followAttempt(prepared, context, signal);
    attempt.text = facts.evidence.text;
    warnOfSurvivors(facts.end, log);
    signal.throwIfAborted();
    const failure = judgeAttempt(facts, agent, job);
    if (failure !== undefined) return failure;
    if (job.output !== undefined) attempt.marker.onPhase(STRUCTURED_REPAIR_LABEL);
    return await checkOwed(job, deps, { text: attempt.text, book }, signal);
  } finally {
    for (const path of [prepared.options.stdinFile, prepared.tempDir]) {
      await rm(path, { recursive: true, force: true }).catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, "a temporary file was not removed"),
      );
    }
  }
}

function warnOfSurvivors({ survivors }: { readonly survivors: readonly number[] }, log: Logger): void {
  if (survivors.length > 0) log.error({ pids: survivors }, "processes of the session are alive in spite of SIGKILL");
}

function toCancelReason({ reason }: AbortSignal): string {
  return reason instanceof Error && reason.name !== "AbortError" ? messageOf(reason) : "cancelled";
}

function toOutcome(
  { book, text }: Attempt,
  ending: Ending,
  { durationMs, redactor }: { durationMs: number; redactor: Redactor },
): JobOutcome {
  const figures = { durationMs: Math.round(durationMs), ...book.sum(), calls: [...book.calls], text: redactor.redact(text) };
  if (ending.type === "done")
    return { ...figures, type: "done", ...(ending.value === undefined ? {} : { value: redactor.redactJson(ending.value) }) };
  return { ...figures, ...ending, reason: redactor.redact(ending.reason).replace(/\s+/g, " ").slice(0, MAX_REASON_CHARS) };
}
