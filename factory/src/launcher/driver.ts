// The launcher's internal interface: what a way of starting a process (terminal or pipes) owes to follow-process.ts.

export interface DriverOptions {
  /** Absolute path of the program: already located. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: { readonly type: "file"; readonly file: string } | { readonly type: "text"; readonly text: string };
  /** Standard error goes to this file; undefined: it comes as data. */
  readonly stderrFile: string | undefined;
  onData(chunk: Buffer, from: "stdout" | "stderr"): void;
}

export interface ExitStatus {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** A started process: leader of its own session and group. */
export interface DrivenProcess {
  readonly pid: number;
  /** The leader is gone. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  /** Every byte of output has been given to `onData`, or the output was closed. Never rejects. */
  readonly drained: Promise<void>;
  /** Stops reading: who still holds the other end writes into the void. */
  closeOutput(): void;
}

/** @throws part-missing when the system refuses to start the program. */
export type StartProcess = (options: DriverOptions) => DrivenProcess;
