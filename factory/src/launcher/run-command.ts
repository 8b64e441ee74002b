import { followProcess } from "./follow-process.ts";
import type { FollowedProcess } from "./follow-process.ts";
import { locateProgram } from "./locate-program.ts";
import { startOnPipes } from "./pipe-driver.ts";
import type { Command, CommandResult, RunCommandOptions } from "./process.ts";

const DEFAULT_OUTPUT_BYTES = 1024 * 1024;
const LF = 0x0a;

/**
 * Runs a short command to its end and keeps the tail of its output.
 * @throws part-missing, not-found (working folder); the abort reason, after the process is gone.
 */
export async function runCommand(command: Command, options: RunCommandOptions, signal: AbortSignal): Promise<CommandResult> {
  signal.throwIfAborted();
  const file = locateProgram(command, options);
  const maxBytes = options.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES;
  const tails = { stdout: createTail(maxBytes), stderr: createTail(maxBytes) };
  let followed: FollowedProcess | undefined;
  let isDrained = false;
  const driven = startOnPipes({
    file,
    args: command.args,
    cwd: options.cwd,
    env: options.env,
    stdin: options.stdin === undefined ? { type: "file", file: "/dev/null" } : { type: "text", text: options.stdin },
    stderrFile: undefined,
    onData(chunk, from) {
      if (isDrained) return;
      followed?.touch();
      tails[from].push(chunk);
    },
  });
  followed = followProcess(
    driven,
    { limits: { timeoutMs: options.timeoutMs }, mark: options.mark, onDrained: () => void (isDrained = true) },
    signal,
  );
  const end = await followed.done;
  if (end.cause === "cancelled") throw signal.reason;
  return {
    exitCode: end.exitCode,
    signal: end.signal,
    timedOut: end.cause === "timeout",
    stdout: tails.stdout.text(),
    stderr: tails.stderr.text(),
    durationMs: end.durationMs,
  };
}

/** Keeps the last `maxBytes` of a stream, cut at a line where there is one, and says what it left out. */
function createTail(maxBytes: number) {
  let parts: Buffer[] = [];
  let keptBytes = 0;
  let droppedBytes = 0;
  const trim = (): void => {
    const all = Buffer.concat(parts);
    const surplus = Math.max(0, all.length - maxBytes);
    parts = [all.subarray(surplus)];
    keptBytes = all.length - surplus;
    droppedBytes += surplus;
  };
  return {
    push(chunk: Buffer): void {
      parts.push(chunk);
      keptBytes += chunk.length;
      if (keptBytes > 2 * maxBytes) trim(); // twice: the copy is paid once per maxBytes, not per chunk
    },
    text(): string {
      trim();
      const kept = parts[0] ?? Buffer.alloc(0);
      if (droppedBytes === 0) return kept.toString("utf8");
      const lineStart = kept.indexOf(LF) + 1;
      const whole = lineStart === kept.length ? kept : kept.subarray(lineStart);
      return `[${droppedBytes + kept.length - whole.length} bytes left out]\n${whole.toString("utf8")}`;
    },
  };
}
