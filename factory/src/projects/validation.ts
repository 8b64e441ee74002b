import { toRequestLine } from "@harnais/contracts/request-line.ts";
import { mkdir } from "node:fs/promises";
import { stripVTControlCharacters } from "node:util";
import type { Config } from "../config.ts";
import type { CommandResult, Launcher } from "../launcher/process.ts";

export interface ValidationDeps {
  readonly launcher: Pick<Launcher, "runCommand">;
  readonly config: Pick<Config, "baseEnv">;
  /** Takes secrets out of output (lib/redaction.ts). */
  redact(text: string): string;
}

export interface ValidationRequest {
  /** Shell commands, run in this order by `/bin/sh -c`. */
  readonly commands: readonly string[];
  /** The run's worktree. */
  readonly cwd: string;
  /** HOME of the commands: the run's own folder, made when missing, so that no user configuration is read. */
  readonly homeDir: string;
  /** Added to the allow-listed environment, e.g. HARNAIS_RUN_ID. */
  readonly env?: Readonly<Record<string, string>>;
  /** How the sweep finds what a command leaves behind. */
  readonly mark?: { readonly name: string; readonly value: string };
  /** Per command. Default 10 min. */
  readonly timeoutMs?: number;
}

export interface ValidationStep {
  readonly command: string;
  /** Null: a signal or the time limit ended it. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  /** End of both streams, redacted, at most 8 kB. */
  readonly outputTail: string;
}

export interface ValidationVerdict {
  readonly ok: boolean;
  /** The commands that ran: all of them, or those up to the first red one. */
  readonly commands: readonly ValidationStep[];
}

const TIMEOUT_MS = 600_000;
const TAIL_BYTES = 8 * 1024;

/**
 * Runs the validation commands one after the other and stops at the first red one; no command is green by definition.
 * A red command is a verdict, never a throw. @throws the abort reason, once the process is gone.
 */
export async function runValidation(deps: ValidationDeps, request: ValidationRequest, signal: AbortSignal): Promise<ValidationVerdict> {
  await mkdir(request.homeDir, { recursive: true, mode: 0o700 });
  const commands: ValidationStep[] = [];
  for (const command of request.commands) {
    const step = await runStep(deps, { command, request }, signal);
    commands.push(step);
    if (step.exitCode !== 0) return { ok: false, commands };
  }
  return { ok: true, commands };
}

async function runStep(
  { launcher, config, redact }: ValidationDeps,
  { command, request }: { command: string; request: ValidationRequest },
  signal: AbortSignal,
): Promise<ValidationStep> {
  const result = await launcher.runCommand(
    { file: "/bin/sh", args: ["-c", command] },
    {
      cwd: request.cwd,
      env: { ...config.baseEnv, HOME: request.homeDir, CI: "true", NO_COLOR: "1", npm_config_update_notifier: "false", ...request.env },
      timeoutMs: request.timeoutMs ?? TIMEOUT_MS,
      // More than is shown: redaction must see whole secrets, not one that is cut in half.
      maxOutputBytes: 4 * TAIL_BYTES,
      ...(request.mark === undefined ? {} : { mark: request.mark }),
    },
    signal,
  );
  const { timedOut, durationMs } = result;
  return { command, exitCode: timedOut ? null : result.exitCode, timedOut, durationMs, outputTail: toTail(result, redact) };
}

const CONTROLS = /[^\P{Cc}\n\t]/gu;

/** Both streams as plain text: the error stream last, since that is where the reason stands. */
function toTail({ stdout, stderr }: CommandResult, redact: (text: string) => string): string {
  const text = [stdout, stderr].filter((stream) => stream.trim() !== "").join("\n");
  const plain = redact(stripVTControlCharacters(text).replaceAll("\r\n", "\n").replace(CONTROLS, "")).trim();
  return cutFront(plain, TAIL_BYTES);
}

/** The end of `text`, at most `maxBytes` of UTF-8, from a whole line where there is one. */
function cutFront(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const kept = bytes
    .subarray(bytes.length - maxBytes)
    .toString("utf8")
    .replace(/^\uFFFD+/, "");
  const lineStart = kept.indexOf("\n") + 1;
  return `[…]\n${lineStart > 0 && lineStart < kept.length ? kept.slice(lineStart) : kept}`;
}

/** What the agent is told after a red validation: the command, how it ended, the end of its output, the request again. */
export function toValidationCorrection(verdict: ValidationVerdict, request: string): string {
  const red = verdict.commands.find((step) => step.exitCode !== 0);
  if (red === undefined) throw new Error("a correction was asked for, but the validation is green");
  return [
    `The validation is red: the command below ${toEnding(red)}.`,
    toRequestLine(request),
    "",
    `Command: ${toOneLine(red.command)}`,
    "Change the files so that it passes and the request is still met. Do not weaken, skip or delete the check itself.",
    "",
    "End of its output:",
    ...(red.outputTail === "" ? ["(it printed nothing)"] : red.outputTail.split("\n").map((line) => `    ${line}`)),
  ].join("\n");
}

/** How a red command ended, e.g. `ended with exit code 1`. */
export function toEnding(step: Pick<ValidationStep, "exitCode" | "timedOut" | "durationMs">): string {
  if (step.timedOut) return `did not end within ${Math.round(step.durationMs / 1000)} s and was stopped`;
  return step.exitCode === null ? "was ended by a signal" : `ended with exit code ${step.exitCode}`;
}

const toOneLine = (text: string): string => text.replace(/\s*[\r\n\u2028\u2029]+\s*/g, " ").trim();
