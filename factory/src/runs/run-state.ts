import { toPhaseId } from "@harnais/contracts/ids.ts";
import type { Json } from "@harnais/contracts/json.ts";
import type { RunnerEvent } from "@harnais/contracts/runner-event.ts";
import type { AgentSpec, Project } from "@harnais/contracts/workflow.ts";
import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { Tables } from "../db/tables.ts";
import type { RunJob } from "../executor/job.ts";
import type { EventFeed } from "./event-feed.ts";
import type { RunRecorder } from "./run-recorder.ts";
import { PhaseFailure } from "./run-failures.ts";
import type { Lease, RunRow } from "./run.sql.ts";
import type { Workbench } from "./workbench.ts";

/** A finished agent phase, kept so that it can be corrected in its session. */
export interface AgentPhaseState {
  readonly phaseId: string;
  readonly name: string;
  readonly spec: AgentSpec;
  /** `onFailure` may have changed it: a correction goes on with the model that the session has. */
  model: string;
  sessionId: string;
  attempts: number;
  /** Corrections so far, by label. */
  readonly rounds: Map<string, number>;
}

/** One live run: what its phases share. Owned by execute-run.ts, changed only by the phase functions of this slice. */
export interface RunState {
  readonly lease: Lease;
  readonly row: RunRow;
  readonly project: Project & { readonly repo: string };
  readonly harness: "pi" | "claude-code" | "codex";
  readonly model: string;
  readonly recorder: RunRecorder;
  /** Aborted when somebody cancels the run, or when the run ends while phases still run. */
  readonly signal: AbortSignal;
  /** The first definitive failure of a phase: the run is not green, and no phase follows it. */
  failure: PhaseFailure | undefined;
  cwd: string;
  phaseCount: number;
  readonly results: Record<string, Json>;
  readonly sessions: Record<string, string>;
  readonly agentPhases: Map<string, AgentPhaseState>;
  readonly callNumbers: Map<string, number>;
  /** Phases are sequential: set while one runs. */
  currentPhase: string | undefined;
  /** What the current code phase has to say to people; stored with its attempt. */
  note: string | undefined;
}

/** What the phases need of the house. */
export interface RunDeps {
  readonly db: Kysely<Tables>;
  readonly runJob: RunJob;
  readonly feed: EventFeed;
  readonly log: Logger;
  readonly workbench: Workbench;
  /** Brings the mirrors up to date: no bill is lost before its run ends. Must not throw. */
  mirrorRun(runId: string): Promise<void>;
}

const MAX_PHASES = 99;
const PHASE_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u;
const PHASE_NAME_RULE = "1 to 64 letters, digits, spaces, '.', '_' or '-', a letter or digit first";

export interface OpenedPhase {
  readonly phaseId: string;
  readonly name: string;
  readonly callNo: number;
}

/** Takes the next place among the run's phases and records its start. */
export async function openPhase(state: RunState, phase: { name: string; kind: "agent" | "code"; retries: number }): Promise<OpenedPhase> {
  if (state.failure !== undefined) throw state.failure;
  if (!PHASE_NAME.test(phase.name)) throw new PhaseFailure(`${JSON.stringify(phase.name)} is not a phase name: ${PHASE_NAME_RULE}`);
  if (state.currentPhase !== undefined) {
    throw new Error(`phase ${phase.name} begins while phase ${state.currentPhase} runs: phases of a run are sequential, await each`);
  }
  if (state.phaseCount >= MAX_PHASES) throw new PhaseFailure(`a run has at most ${MAX_PHASES} phases`);
  const seq = ++state.phaseCount;
  const callNo = (state.callNumbers.get(phase.name) ?? 0) + 1;
  state.callNumbers.set(phase.name, callNo);
  const phaseId = toPhaseId(state.row.runId, seq);
  state.currentPhase = phase.name;
  await state.recorder.record(
    phaseEvent(phaseId, phase.name, "phase_start", { seq, name: phase.name, kind: phase.kind, retries: phase.retries, call_no: callNo }),
  );
  return { phaseId, name: phase.name, callNo };
}

/** An event of a phase; the payload is typed by its type. */
export function phaseEvent<Type extends RunnerEvent["type"]>(
  phaseId: string,
  name: string,
  type: Type,
  payload: Extract<RunnerEvent, { type: Type }>["payload"],
): RunnerEvent {
  return { type, phaseId, name, payload } as RunnerEvent;
}
