import type { ModelId } from "@harnais/contracts/model-id.ts";
import type { Price } from "@harnais/contracts/money.ts";
import type { Harness } from "@harnais/contracts/statuses.ts";
import type { Command } from "../launcher/process.ts";

// The agents' port: one adapter per agent CLI, data in, data out. An adapter starts nothing and stores nothing.

/** One attempt, as an adapter sees it. */
export interface AgentTask {
  readonly sessionId: string;
  /** False: the session exists (on disk) and this attempt goes on in it. */
  readonly isNewSession: boolean;
  readonly mode: "explore" | "code";
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  readonly model: ModelId;
  /** Null: the model has no price row. */
  readonly price: Price | null;
  /** Context window and output cap told to the CLI, in tokens. */
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly systemPrompt?: string;
  /** The proxy's base URL with the phase label in it. */
  readonly proxyBaseUrl: string;
  /** Name of the environment variable that holds the proxy token. */
  readonly proxyTokenEnv: string;
  readonly cwd: string;
  /** This run's own folder for the CLI: configuration, sessions, HOME. Absolute. */
  readonly homeDir: string;
  readonly idleMs: number;
}

/** What to write, then what to start. */
export interface AgentLaunch {
  readonly command: Command;
  /** Added to the allow-listed environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Configuration files, by absolute path; written with mode 0600 before the start. */
  readonly files: Readonly<Record<string, string>>;
}

/** Tokens and cost of one model call as the CLI reports it; null is unknown, never zero. */
export interface CallUsage {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly totalTokens: number | null;
  readonly costNanoUsd: number | null;
}

/** What a CLI's stream says, in one vocabulary for the three CLIs. */
export type AgentEvent =
  | { readonly type: "session"; readonly sessionId: string }
  | { readonly type: "turn_start" }
  | {
      readonly type: "assistant";
      readonly model: string;
      readonly usage: CallUsage;
      /** `stop` and `toolUse` are normal ends. */
      readonly stopReason: string;
      readonly text: string;
      readonly toolCalls: number;
      readonly responseId: string | null;
      readonly error: string | null;
    }
  /** A model call for a summary went up; `compaction` is its end. */
  | { readonly type: "compaction_start" }
  | { readonly type: "compaction"; readonly usage: CallUsage; readonly failed: boolean; readonly error: string | null }
  | { readonly type: "tool_start"; readonly tool: string; readonly toolCallId: string; readonly argsHead: string }
  | {
      readonly type: "tool_end";
      readonly tool: string;
      readonly toolCallId: string;
      readonly isError: boolean;
      readonly durationMs: number | null;
    }
  /** The CLI is done and will leave. */
  | { readonly type: "final" }
  /** A line that is not an event: kept in the log. */
  | { readonly type: "noise"; readonly line: string };

/** Turns the CLI's lines into events; holds the state of one process. Never throws. */
export interface AgentStreamParser {
  parseLine(line: string): readonly AgentEvent[];
}

/** What an attempt showed, for the CLI's own rules of success. */
export interface AttemptEvidence {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly sawFinal: boolean;
  readonly lastStopReason: string | null;
  readonly lastError: string | null;
  readonly text: string;
  readonly stderrTail: string;
}

export type AttemptVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly cause: "agent" | "llm-upstream" | "no-usable-output" | "crashed"; readonly reason: string };

export interface AgentProgram {
  /** What starts it: a program and the arguments before ours. */
  readonly command: Command;
  readonly version: string;
}

export interface AgentAdapter {
  readonly name: Harness;
  /** Versions it was tested with, as `major.minor`: outside them doctor and the run warn. */
  readonly testedVersions: readonly string[];
  /** @throws part-missing, with the command that mends it. */
  locate(): AgentProgram;
  toLaunch(task: AgentTask, program: AgentProgram): AgentLaunch;
  /** The prompt as the CLI must be given it so that the model gets it word for word (no slash command, no expansion). */
  toPromptText(prompt: string): string;
  createParser(task: AgentTask): AgentStreamParser;
  /** Success is earned: exit status and final event and last model call normal and a text. */
  judge(evidence: AttemptEvidence): AttemptVerdict;
  /** True when the CLI's files hold this session, so that it can be resumed. */
  hasSession(task: Pick<AgentTask, "homeDir" | "sessionId">): boolean;
}
