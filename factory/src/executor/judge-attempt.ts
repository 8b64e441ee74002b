import type { FailureCause } from "@harnais/contracts/statuses.ts";
import type { AgentAdapter, AttemptEvidence } from "../agents/agent-adapter.ts";
import { readHttpStatus } from "../agents/http-refusal.ts";
import { isStorageError } from "../db/data-dir.ts";
import { type ErrorCode, FactoryError, messageOf } from "../lib/errors.ts";
import type { AttemptFacts } from "./follow-attempt.ts";
import type { Job } from "./job.ts";

/** How an attempt failed; `retryable` false: a further attempt would fail alike. */
export interface AttemptFailure {
  readonly type: "failed";
  readonly cause: FailureCause;
  readonly reason: string;
  readonly retryable: boolean;
}

/** The failure that the process's end shows; undefined when the CLI's own rules call it a success. */
export function judgeAttempt(
  { end, evidence, hasTooManyTurns }: AttemptFacts,
  agent: AgentAdapter,
  job: Pick<Job, "limits">,
): AttemptFailure | undefined {
  const { limits } = job;
  if (hasTooManyTurns) return failed("agent", `ended after ${limits.maxTurns} turns: the limit of this phase (maxTurns)`);
  switch (end.cause) {
    case "timeout":
      return failed("timeout", `no end within ${toSeconds(limits.timeoutMs)}`);
    case "idle-timeout":
      return failed("idle-timeout", `no output for ${toSeconds(limits.idleMs)}`);
    // We ended it, after it had said its last word: what counts is what it said.
    case "after-final":
      return judgeOwnEnd({ ...evidence, exitCode: 0, signal: null }, agent);
    case "exit":
    case "cancelled":
      return judgeOwnEnd(evidence, agent);
  }
}

function judgeOwnEnd(evidence: AttemptEvidence, agent: AgentAdapter): AttemptFailure | undefined {
  const verdict = agent.judge(evidence);
  if (verdict.ok) return undefined;
  if (verdict.cause !== "llm-upstream") return failed(verdict.cause, verdict.reason);
  const status = readHttpStatus(evidence.lastError);
  // The proxy's own refusals (executor.md X2, X3): ceiling reached, bills cannot be written.
  if (status === 402) return failed("ceiling", verdict.reason, false);
  if (status === 503 && evidence.lastError?.includes('"storage"')) return failed("storage", verdict.reason, false);
  return failed("llm-upstream", verdict.reason, status === undefined || isTransient(status));
}

/** Timeout, conflict, too early, too many requests, and every failure of the server's own. */
const isTransient = (status: number): boolean => status >= 500 || [408, 409, 425, 429].includes(status);

const CAUSES: Partial<Record<ErrorCode, FailureCause>> = {
  "part-missing": "part-missing",
  "unknown-model": "part-missing",
  "unknown-provider": "part-missing",
  "bad-scenario": "part-missing",
  storage: "storage",
  "git-failed": "git",
  "not-a-repository": "git",
  "not-found": "git",
};

/** What was thrown before or after the process, as a failure with its cause; undefined for a bug. */
export function toFailure(error: unknown): AttemptFailure | undefined {
  if (error instanceof FactoryError) return failed(CAUSES[error.code] ?? "agent", error.message, error.code === "git-failed");
  if (isStorageError(error)) return failed("storage", `the data folder cannot be written: ${error.message}`, false);
  return isShortage(error) ? failed("crashed", `the machine is short of means: ${error.message}`) : undefined;
}

// Another attempt may find what this one lacked: processes, memory, open files.
const SHORTAGES = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"]);
const isShortage = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "code" in error && typeof error.code === "string" && SHORTAGES.has(error.code);

/** A bug of ours: told as it is, its stack is in the log. */
export const toBug = (error: unknown): AttemptFailure => failed("crashed", `internal error: ${messageOf(error)}`, false);

export function failed(cause: FailureCause, reason: string, retryable = true): AttemptFailure {
  return { type: "failed", cause, reason, retryable };
}

const toSeconds = (ms: number): string => (ms >= 60_000 ? `${Math.round(ms / 6000) / 10} min` : `${Math.round(ms / 100) / 10} s`);
