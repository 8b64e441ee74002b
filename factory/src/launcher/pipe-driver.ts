import { closeSync, openSync } from "node:fs";
import { execa } from "execa";
import { FactoryError } from "../lib/errors.ts";
import type { DrivenProcess, DriverOptions, ExitStatus } from "./driver.ts";

const FILE_MODE = 0o600;

/** Starts a program on pipes, leader of its own session. */
export function startOnPipes(options: DriverOptions): DrivenProcess {
  const opened: number[] = [];
  try {
    const child = spawnChild(options, opened);
    if (child.pid === undefined)
      throw new FactoryError("part-missing", `the system refused to start ${options.file}: is it executable, are its arguments too long?`);
    child.stdout?.on("data", (chunk: Buffer) => options.onData(chunk, "stdout"));
    child.stderr?.on("data", (chunk: Buffer) => options.onData(chunk, "stderr"));
    const exited = new Promise<ExitStatus>((resolve) => {
      child.nodeChildProcess.once("exit", (exitCode, signal) => resolve({ exitCode: signal === null ? exitCode : null, signal }));
    });
    return {
      pid: child.pid,
      exited,
      drained: child.then(() => undefined),
      closeOutput() {
        child.stdout?.destroy();
        child.stderr?.destroy();
        child.stdin?.destroy();
      },
    };
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function spawnChild(options: DriverOptions, opened: number[]) {
  const open = (file: string, flags: string): number => {
    const descriptor = openSync(file, flags, FILE_MODE);
    opened.push(descriptor);
    return descriptor;
  };
  // execa's types know the standard descriptors only; any number is handed to the child as it is.
  return execa(options.file, options.args, {
    cwd: options.cwd,
    env: options.env,
    extendEnv: false,
    stdin: options.stdin.type === "text" ? Buffer.from(options.stdin.text) : (open(options.stdin.file, "r") as 0),
    stdout: "pipe",
    stderr: options.stderrFile === undefined ? "pipe" : (open(options.stderrFile, "a") as 2),
    encoding: "buffer",
    buffer: false,
    reject: false,
    detached: true, // its own session and group: one signal reaches them all
    cleanup: false, // live-groups.ts does it, for terminals too
  });
}
