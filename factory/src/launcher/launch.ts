import { accessSync, closeSync, constants, openSync } from "node:fs";
import { FactoryError, messageOf } from "../lib/errors.ts";
import type { StartProcess } from "./driver.ts";
import { followProcess } from "./follow-process.ts";
import type { FollowedProcess } from "./follow-process.ts";
import { createLineSplitter } from "./line-splitter.ts";
import { locateProgram } from "./locate-program.ts";
import { startOnPipes } from "./pipe-driver.ts";
import type { Command, LaunchOptions, RunningProcess } from "./process.ts";
import { readStartTime } from "./process-table.ts";
import { startOnTerminal } from "./pty-driver.ts";

const NULL_DEVICE = "/dev/null";
const FILE_MODE = 0o600;

/**
 * Starts a command and follows it line by line.
 * @throws part-missing, not-found (working folder), storage (a file of standard input or error); the abort reason when
 * `signal` is aborted already. Nothing has started then.
 */
export function launch(command: Command, options: LaunchOptions, signal: AbortSignal): RunningProcess {
  signal.throwIfAborted();
  if (options.confinement !== "none")
    throw new FactoryError("part-missing", `confinement level "${options.confinement}" is not built yet: run at level "none"`);
  const file = locateProgram(command, options);
  const stdinFile = options.stdinFile ?? NULL_DEVICE;
  checkFiles(stdinFile, options.stderrFile);

  const stdout = createLineSplitter(options.onLine);
  const stderr = createLineSplitter(options.onLine);
  let followed: FollowedProcess | undefined;
  let isDrained = false;
  const start: StartProcess = options.terminal ? startOnTerminal : startOnPipes;
  const driven = start({
    file,
    args: command.args,
    cwd: options.cwd,
    env: options.env,
    stdin: { type: "file", file: stdinFile },
    stderrFile: options.stderrFile,
    onData(chunk, from) {
      if (isDrained) return;
      followed?.touch();
      (from === "stdout" ? stdout : stderr).push(chunk);
    },
  });
  const startTime = readStartTime(driven.pid);
  followed = followProcess(
    driven,
    {
      limits: options.limits,
      mark: options.mark,
      onDrained() {
        isDrained = true;
        stdout.flush();
        stderr.flush();
      },
    },
    signal,
  );
  const { done, expectEnd } = followed;
  return { pid: driven.pid, startTime, done, expectEnd };
}

function checkFiles(stdinFile: string, stderrFile: string | undefined): void {
  try {
    accessSync(stdinFile, constants.R_OK);
    if (stderrFile !== undefined) closeSync(openSync(stderrFile, "a", FILE_MODE));
  } catch (error) {
    throw new FactoryError("storage", `standard input or error of the command: ${messageOf(error)}`, { cause: error });
  }
}
