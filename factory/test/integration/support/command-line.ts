import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export const CLI = join(import.meta.dirname, "../../../src/cli.ts");

export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartedCommand {
  readonly child: ChildProcess;
  readonly end: Promise<CommandEnd>;
  /** Standard error so far. */
  stderr(): string;
}

export interface CommandContext {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `harnais <args>` as a process of its own, with nothing of our environment but PATH. */
export function startCommand(args: readonly string[], { cwd, env = {} }: CommandContext): StartedCommand {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: cwd, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const chunks = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (chunks.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (chunks.stderr += text));
  const end = once(child, "close").then(([exitCode, signal]) => ({
    exitCode: exitCode as number | null,
    signal: signal as NodeJS.Signals | null,
    ...chunks,
  }));
  return { child, end, stderr: () => chunks.stderr };
}

/** Runs `harnais <args>` to its end. */
export const runCommandLine = (args: readonly string[], context: CommandContext): Promise<CommandEnd> => startCommand(args, context).end;
