import "./lib/compile-cache.ts"; // first: what is loaded later is kept
import { setUncaughtExceptionCaptureCallback } from "node:process";
import { defineCommand, renderUsage, runCommand } from "citty";
import { findCommand, refuseUnknownOptions } from "./commands/command-line.ts";
import { FactoryError, messageOf, toExitCode } from "./lib/errors.ts";
import { VERSION } from "./lib/version.ts";

/** Every command is one lazily imported file: what a command does not need is not loaded. */
const main = defineCommand({
  meta: { name: "harnais", version: VERSION, description: "Self-hosted software factory driven by coding agents" },
  subCommands: {
    serve: () => import("./commands/serve.ts").then((file) => file.default),
    ask: () => import("./commands/ask.ts").then((file) => file.default),
    run: () => import("./commands/run.ts").then((file) => file.default),
    runs: () => import("./commands/runs.ts").then((file) => file.default),
    show: () => import("./commands/show.ts").then((file) => file.default),
    cancel: () => import("./commands/cancel.ts").then((file) => file.default),
    answer: () => import("./commands/answer.ts").then((file) => file.default),
    trace: () => import("./commands/trace.ts").then((file) => file.default),
    projects: () => import("./commands/projects.ts").then((file) => file.default),
    providers: () => import("./commands/providers.ts").then((file) => file.default),
    prices: () => import("./commands/prices.ts").then((file) => file.default),
    doctor: () => import("./commands/doctor.ts").then((file) => file.default),
    demo: () => import("./commands/demo.ts").then((file) => file.default),
  },
});

/** Runs the command line and sets the exit code (overview §5). A stack trace only with `--debug`. */
async function runCli(rawArgs: string[]): Promise<void> {
  const isDebug = rawArgs.includes("--debug");
  const args = rawArgs.filter((arg) => arg !== "--debug");
  // A reader that closes the pipe early (`| head`) is no error of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  // Rejections that nobody awaits come here too. What waits for the part that broke would wait for ever: agents end with us,
  // the next start recovers the rest.
  setUncaughtExceptionCaptureCallback((error) => {
    fail(error, isDebug);
    process.exit();
  });
  try {
    const { command, path, rest } = await findCommand(main, args);
    if (rest.includes("--help") || rest.includes("-h") || args[0] === "help") {
      process.stdout.write(`${await renderUsage(command, path)}\n`);
      return;
    }
    if (rest.includes("--version")) {
      process.stdout.write(`${VERSION}\n`);
      return;
    }
    if (command.run === undefined) {
      process.stderr.write(`${await renderUsage(command, path)}\n`);
      process.exitCode = 2;
      return;
    }
    await refuseUnknownOptions(command, rest);
    await runCommand(command, { rawArgs: rest });
  } catch (error) {
    fail(error, isDebug);
  }
}

function fail(error: unknown, isDebug: boolean): void {
  if (isDebug && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  if (error instanceof FactoryError) {
    process.stderr.write(`harnais: ${error.message} [${error.code}]\n`);
    process.exitCode = toExitCode(error.code);
  } else if (isMirrorError(error)) {
    process.stderr.write(
      `harnais: the SQLite mirror is damaged (${messageOf(error)}): delete it, it is rebuilt from the raw files [storage]\n`,
    );
    process.exitCode = toExitCode("storage");
  } else {
    process.stderr.write(`harnais: ${messageOf(error)}${isDebug ? "" : " (run again with --debug for details)"}\n`);
    process.exitCode = isUsageError(error) ? 2 : 1;
  }
}

/** SQLite is read for the mirror only. */
const isMirrorError = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";

/** citty's own errors (a missing argument, a value out of an enum) are wrong usage. */
const isUsageError = (error: unknown): boolean => error instanceof Error && error.name === "CLIError";

await runCli(process.argv.slice(2));
