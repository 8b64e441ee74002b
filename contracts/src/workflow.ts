import type { Json } from "./json.ts";
import type { Harness } from "./statuses.ts";

/** A workflow's default export: a function of phases, or an ordered list of them. */
export type Workflow = (run: Run) => Promise<unknown>;

/** One entry of a workflow in list form. */
export interface PhaseDefinition {
  readonly name: string;
  readonly kind: "agent" | "code";
  /** An agent phase returns the spec of its request; a code phase returns its result. `attempt` counts from 1. */
  action(run: Run, attempt: number): AgentSpec | Json | Promise<AgentSpec | Json>;
  /** Further attempts after the first; agent phases only. Default 0. */
  readonly retries?: number;
}

/** What a workflow sees of its project. */
export interface Project {
  readonly id: string;
  readonly name: string;
  readonly baseBranch: string;
  readonly validation: readonly string[];
}

/** One execution of a workflow. Phases are sequential; a phase is known by (name, nth call). */
export interface Run {
  readonly id: string;
  readonly input: string;
  readonly project: Project;
  /** Where the phases work: the run's worktree, or the checkout itself for read-only workflows. */
  readonly cwd: string;
  /** Results of the finished phases, by phase name (the last call of a name wins). */
  readonly results: Record<string, Json>;
  /** Session of the latest agent phase of each name. */
  readonly sessions: Record<string, string>;
  /** Spent so far; null when nothing is known. */
  readonly costUsd: number | null;
  readonly tokens: number | null;
  readonly signal: AbortSignal;
  agent(name: string, spec: AgentSpec): Promise<PhaseResult>;
  /** Runs `fn` once; never retried. `onInterrupt` says what happens when our own crash interrupts it. Default "person". */
  code(name: string, fn: (run: Run, signal: AbortSignal) => Promise<Json>, options?: CodeOptions): Promise<Json>;
  /** A further attempt of a finished agent phase, in its session, billed to `label`. */
  correct(phase: string, reason: string, options: CorrectOptions): Promise<PhaseResult>;
  /** Puts a question to the operator and waits for the answer. */
  ask(question: string): Promise<string>;
  /** Ends the phase (or the run, between phases) as failed, with this reason. */
  fail(reason: string): never;
  log(message: string): void;
}

export interface CorrectOptions {
  readonly label: string;
  /** How many corrections of this label the workflow allows: shown as `validation-repair 1/3`. */
  readonly of?: number;
}

export interface CodeOptions {
  readonly onInterrupt?: "rerun" | "person" | { check(): Promise<boolean> };
}

export interface AgentSpec {
  readonly prompt: string;
  readonly systemPrompt?: string;
  /** explore: read-only tools; code: may write in the worktree and owes a change. */
  readonly mode: "explore" | "code";
  /** Agent CLI. Default: the project's. */
  readonly agent?: Harness;
  /** `provider/id`. Default: the project's. */
  readonly model?: string;
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  /** JSON Schema of the value the phase owes. */
  readonly output?: { readonly schema: Json };
  /** Phase label of its model calls. Default "agent". */
  readonly label?: string;
  /** Further attempts after the first. Default 0. */
  readonly retries?: number;
  /** How a further attempt goes on. Default "same-session". */
  readonly onFailure?: "same-session" | "fresh-session" | { readonly model: string };
  readonly limits?: Limits;
}

export interface Limits {
  /** Default 15 min, at most 40 min. */
  readonly timeoutMs?: number;
  /** No byte from the CLI for so long ends it. Default 5 min. */
  readonly idleMs?: number;
  readonly maxTurns?: number;
}

export interface PhaseResult {
  readonly phaseId: string;
  readonly text: string;
  /** The validated structured output, when the spec asked for one. */
  readonly value?: Json;
  readonly sessionId: string;
  readonly costUsd: number | null;
  readonly tokens: number | null;
}
