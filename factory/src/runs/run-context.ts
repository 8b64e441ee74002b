import type { Run } from "@harnais/contracts/workflow.ts";
import type { ExecuteDeps } from "./execute-deps.ts";
import { correctAgentPhase, runAgentPhase } from "./run-agent-phase.ts";
import { runCodePhase } from "./run-code-phase.ts";
import { PhaseFailure } from "./run-failures.ts";
import type { RunState } from "./run-state.ts";

export interface RunContext {
  /** What the workflow gets (D1). */
  readonly run: Run;
  /** Phases that have begun and not ended. */
  readonly pending: ReadonlySet<Promise<unknown>>;
}

export function createRunContext(state: RunState, deps: ExecuteDeps): RunContext {
  const pending = new Set<Promise<unknown>>();
  const track = <Result>(phase: Promise<Result>): Promise<Result> => {
    pending.add(phase);
    // Also marks a rejection as seen when the workflow does not await its phase.
    phase.then(
      () => pending.delete(phase),
      () => pending.delete(phase),
    );
    return phase;
  };
  const run: Run = {
    id: state.row.runId,
    input: state.row.input,
    project: {
      id: state.project.id,
      name: state.project.name,
      baseBranch: state.project.baseBranch,
      validation: state.project.validation,
    },
    get cwd() {
      return state.cwd;
    },
    results: state.results,
    sessions: state.sessions,
    get costUsd() {
      return state.recorder.folded?.costUsd ?? null;
    },
    get tokens() {
      return state.recorder.folded?.tokens ?? null;
    },
    signal: state.signal,
    agent: (name, spec) => track(runAgentPhase(state, deps, { name, spec })),
    code: (name, fn, options = {}) => track(runCodePhase(state, deps, { name, run, fn, options })),
    correct: (name, reason, options) => track(correctAgentPhase(state, deps, { name, reason, options })),
    ask: (question) => ask(state, deps, question),
    fail(reason) {
      throw new PhaseFailure(
        typeof reason === "string" && reason !== "" ? reason : `run.fail got ${JSON.stringify(reason) ?? "nothing"} for a reason`,
      );
    },
    log(message) {
      deps.log.info({ runId: state.row.runId, phase: state.currentPhase }, message);
      deps.feed.publish({
        seq: null,
        runId: state.row.runId,
        phaseId: null,
        type: "log",
        name: state.currentPhase ?? null,
        payload: { message },
        ts: new Date().toISOString(),
      });
    },
  };
  return { run, pending };
}

async function ask(state: RunState, deps: ExecuteDeps, question: string): Promise<string> {
  const event = { phaseId: null, name: state.row.workflow };
  // Before the question is said: an answer may come at once.
  const answered = deps.waitForAnswer(state.row.runId, state.signal);
  answered.catch(() => undefined);
  await state.recorder.record({ ...event, type: "run_waiting", payload: { reason: "question", question } });
  const answer = await answered;
  await state.recorder.record({ ...event, type: "run_resumed", payload: { by: "operator", answer } });
  return answer;
}
