import type { ConfinementLevel } from "@harnais/contracts/statuses.ts";
import type { SweepResult } from "./sweep.ts";

// The launcher's port: the one door to processes. `launch` (launch.ts) follows a long-lived command line by line,
// `runCommand` (run-command.ts) runs a short one to its end (git, validation). Both take the same shapes.

export interface Command {
  /** Absolute path, or a name looked up on the given environment's PATH. */
  readonly file: string;
  readonly args: readonly string[];
}

export interface ProcessLimits {
  /** Whole duration. */
  readonly timeoutMs: number;
  /** No byte of output for so long ends it. */
  readonly idleMs?: number;
}

export interface LaunchOptions {
  readonly cwd: string;
  /** The whole environment of the child: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Read to its end by the child; default the null device. */
  readonly stdinFile?: string;
  /** Standard error goes here, apart from the lines; default: merged into them. */
  readonly stderrFile?: string;
  /** True: a pseudo-terminal; false: pipes. */
  readonly terminal: boolean;
  readonly confinement: ConfinementLevel;
  readonly limits: ProcessLimits;
  /** `NAME=value` in the environment of every descendant: how the sweep finds those who left the group. */
  readonly mark?: { readonly name: string; readonly value: string };
  /** One line of output, without line end, carriage returns and escape sequences. Called in order, never after `done`. */
  onLine(line: string): void;
}

/** Why a process ended; `exit` is its own doing. */
export type EndCause = "exit" | "timeout" | "idle-timeout" | "cancelled" | "after-final";

export interface ProcessEnd {
  readonly cause: EndCause;
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationMs: number;
  /** Descendants that the sweep had to end. */
  readonly swept: number;
  /** Pids of descendants that are alive in spite of the sweep; empty but for a machine in trouble. */
  readonly survivors: readonly number[];
}

export interface RunningProcess {
  readonly pid: number;
  /** Kernel start time of `pid` (clock ticks since boot on Linux): with the pid it names one process for good. */
  readonly startTime: string | null;
  /** Resolves when the process has ended, its output is drained and no marked descendant is alive, but for `survivors`. Never rejects. */
  readonly done: Promise<ProcessEnd>;
  /** The CLI has said its last word: it gets `graceMs` to leave by itself, then the ladder (cause `after-final`). */
  expectEnd(graceMs: number): void;
}

/** Result of a command that was run to its end. */
export interface CommandResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

export interface RunCommandOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly stdin?: string;
  /** Bytes kept of each stream, from its end; default 1 MiB. */
  readonly maxOutputBytes?: number;
  readonly mark?: { readonly name: string; readonly value: string };
}

/** What the rest of the factory gets: functions, so that nothing else imports a process library. */
export interface Launcher {
  /** @throws part-missing when the program cannot be found, before anything starts. Aborting `signal` starts the kill ladder. */
  launch(command: Command, options: LaunchOptions, signal: AbortSignal): RunningProcess;
  /** Never rejects for a non-zero exit. @throws part-missing when the program cannot be found; the abort reason on abort (after the process is gone). */
  runCommand(command: Command, options: RunCommandOptions, signal: AbortSignal): Promise<CommandResult>;
  /** Ends every process that carries the mark, until none is left or 8 s are over: then there are survivors. */
  sweep(mark: { readonly name: string; readonly value: string }): Promise<SweepResult>;
}
