import { constants } from "node:os";
import { spawn } from "@lydell/node-pty";
import type { DrivenProcess, DriverOptions, ExitStatus } from "./driver.ts";

// Wide: nothing is padded or wrapped by programs that look at the width. The kernel itself never wraps.
const COLUMNS = 4096;
const ROWS = 100;
// Nothing is ever typed into the terminal: a cooked one cuts lines at 4096 bytes and echoes them. The words of the
// command are positional arguments, so the shell reads none of them.
const WITH_STDIN = 'exec <"$0"; exec "$@"';
const WITH_STDIN_AND_STDERR = 'exec <"$0" 2>>"$1"; shift; exec "$@"';
// Silence that means "drained" after the exit, and the longest that a chatting grandchild can delay the end.
const QUIET_MS = 20;
const MAX_DRAIN_MS = 1500;

interface OutputStream {
  destroy(error?: Error): unknown;
}

/** Starts a program on a pseudo-terminal of its own; standard input comes from a file. */
export function startOnTerminal(options: DriverOptions): DrivenProcess {
  if (options.stdin.type !== "file") throw new TypeError("a program on a terminal reads its input from a file");
  const script = options.stderrFile === undefined ? WITH_STDIN : WITH_STDIN_AND_STDERR;
  const files = options.stderrFile === undefined ? [options.stdin.file] : [options.stdin.file, options.stderrFile];
  const terminal = spawn("/bin/sh", ["-c", script, ...files, options.file, ...options.args], {
    name: options.env["TERM"] ?? "dumb",
    cols: COLUMNS,
    rows: ROWS,
    cwd: options.cwd,
    env: { ...options.env },
    encoding: null, // bytes: lines are cut before they are decoded
  });
  let received = 0;
  terminal.onData((data: unknown) => {
    const chunk = data as Buffer;
    received += chunk.length;
    options.onData(chunk, "stdout");
  });
  const closeOutput = drainBeforeDestroy(terminal, () => received);
  const exited = new Promise<ExitStatus>((resolve) => {
    terminal.onExit(({ exitCode, signal }) =>
      resolve(signal ? { exitCode: null, signal: toSignalName(signal) } : { exitCode, signal: null }),
    );
  });
  return { pid: terminal.pid, exited, drained: exited.then(() => undefined), closeOutput };
}

/**
 * node-pty destroys its stream 200 ms after the exit, read or not: a stalled event loop would lose the last lines.
 * Its destroy is put off until a whole turn of the loop has brought nothing. Returns the undelayed destroy.
 */
function drainBeforeDestroy(terminal: object, received: () => number): () => void {
  const stream = (terminal as { _socket?: OutputStream })._socket;
  if (stream === undefined) throw new Error("node-pty has no _socket any more: adapt pty-driver.ts to this version");
  const destroy = stream.destroy.bind(stream);
  let isWaiting = false;
  stream.destroy = (error) => {
    if (error !== undefined) return destroy(error);
    if (isWaiting) return stream;
    isWaiting = true;
    const startedAt = performance.now();
    const check = (before: number): void => {
      // setImmediate runs after a whole poll phase: what was readable has been read by then.
      setTimeout(() => {
        setImmediate(() => {
          if (received() === before || performance.now() - startedAt > MAX_DRAIN_MS) destroy();
          else check(received());
        });
      }, QUIET_MS);
    };
    check(received());
    return stream;
  };
  return () => destroy();
}

function toSignalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}
