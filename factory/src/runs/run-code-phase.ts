import type { Json } from "@harnais/contracts/json.ts";
import type { FailureCause } from "@harnais/contracts/statuses.ts";
import type { CodeOptions, Run } from "@harnais/contracts/workflow.ts";
import { type ErrorCode, FactoryError, messageOf } from "../lib/errors.ts";
import { savePhaseFacts } from "./event.sql.ts";
import { JournalUnwritable, LeaseLost, PhaseFailure, requireLease, RunCancelled } from "./run-failures.ts";
import { openPhase, phaseEvent, type RunDeps, type RunState } from "./run-state.ts";

interface CodePhase {
  readonly name: string;
  readonly run: Run;
  fn(run: Run, signal: AbortSignal): Promise<Json>;
  readonly options: CodeOptions;
}

/** A code phase: run once, never retried; its result is JSON. */
export async function runCodePhase(state: RunState, deps: RunDeps, { name, run, fn, options }: CodePhase): Promise<Json> {
  const { phaseId } = await openPhase(state, { name, kind: "code", retries: 0 });
  requireLease(await savePhaseFacts(deps.db, state.lease, { phaseId, onInterrupt: toInterruptPolicy(options) }), state.row.runId);
  await state.recorder.record(phaseEvent(phaseId, name, "attempt_start", { attempt: 1, label: "", session_id: null }));
  const startedAt = performance.now();
  try {
    const result = toJson(name, await fn(run, state.signal));
    state.results[name] = result;
    requireLease(await savePhaseFacts(deps.db, state.lease, { phaseId, resultJson: JSON.stringify(result) }), state.row.runId);
    await end(state, { phaseId, name, startedAt, status: "done", cause: null, error: null });
    return result;
  } catch (error) {
    if (error instanceof LeaseLost || error instanceof JournalUnwritable) throw error;
    const isCancelled = state.signal.aborted || error instanceof RunCancelled;
    const failure = isCancelled ? undefined : toPhaseFailure(name, error, deps);
    await end(state, {
      phaseId,
      name,
      startedAt,
      status: isCancelled ? "cancelled" : "failed",
      cause: failure?.failureCause ?? "cancelled",
      error: failure?.message ?? messageOf(state.signal.reason),
    });
    state.failure ??= failure;
    throw failure ?? state.signal.reason;
  } finally {
    state.currentPhase = undefined;
    state.note = undefined;
  }
}

function toInterruptPolicy({ onInterrupt = "person" }: CodeOptions): string {
  return typeof onInterrupt === "string" ? onInterrupt : "check";
}

/** Results are JSON: undefined becomes null, anything that does not survive is a bug of the workflow. */
function toJson(name: string, value: unknown): Json {
  const text = JSON.stringify(value ?? null) as string | undefined;
  if (text === undefined) throw new PhaseFailure(`phase ${name} returned something that is not JSON`);
  return JSON.parse(text) as Json;
}

const CAUSES: Partial<Record<ErrorCode, FailureCause>> = {
  "git-failed": "git",
  "bad-ref": "git",
  "secret-found": "validation",
  storage: "storage",
  "part-missing": "part-missing",
};

/** A failure that an operator can mend keeps its message; anything else thrown is a bug, and its stack is kept in the log. */
function toPhaseFailure(name: string, error: unknown, { log }: RunDeps): PhaseFailure {
  if (error instanceof PhaseFailure) return error;
  if (error instanceof FactoryError) return new PhaseFailure(error.message, CAUSES[error.code] ?? "workflow");
  log.error({ err: error, phase: name }, "bug in a code phase");
  const where = error instanceof Error ? (error.stack?.split("\n")[1] ?? "").trim() : "";
  return new PhaseFailure(`bug in phase ${name}: ${messageOf(error)}${where === "" ? "" : ` (${where})`}`, "workflow");
}

interface CodeEnd {
  readonly phaseId: string;
  readonly name: string;
  readonly startedAt: number;
  readonly status: "done" | "failed" | "cancelled";
  readonly cause: FailureCause | null;
  readonly error: string | null;
}

async function end(state: RunState, { phaseId, name, startedAt, status, cause, error }: CodeEnd): Promise<void> {
  await state.recorder.record(
    phaseEvent(phaseId, name, "phase_attempt", {
      attempt: 1,
      ok: status === "done",
      status,
      cause: status === "done" ? null : cause,
      error,
      duration_ms: Math.round(performance.now() - startedAt),
      cost_usd: null,
      cost_complete: true,
      tokens: null,
      label: "",
      ...(state.note === undefined ? {} : { note: state.note }),
    }),
  );
  await state.recorder.record(
    phaseEvent(phaseId, name, "phase_end", { status, attempts: 1, cost_usd: null, cost_complete: true, tokens: null }),
  );
}
