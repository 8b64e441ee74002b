import { randomInt } from "node:crypto";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { createLauncher } from "../../src/launcher/create-launcher.ts";
import type { RunCommandOptions } from "../../src/launcher/process.ts";
import { CHILD_ENV, fakeAgent, pidsWithArgument } from "./support/launcher.ts";

const { runCommand } = createLauncher();
const never = new AbortController().signal;
const options: RunCommandOptions = { cwd: tmpdir(), env: CHILD_ENV, timeoutMs: 60_000 };
const shell = (script: string, ...args: string[]) => ({ file: "sh", args: ["-c", script, ...args] });

test("a command's output, input and exit code come back; a non-zero exit is a result", async () => {
  const result = await runCommand(shell("cat; echo oops >&2; exit 4"), { ...options, stdin: "héllo\n" }, never);
  expect(result).toMatchObject({ exitCode: 4, signal: null, timedOut: false, stdout: "héllo\n", stderr: "oops\n" });
});

test("a command that does not read its input is no error", async () => {
  const result = await runCommand(shell("exec <&-; exit 0"), { ...options, stdin: "x".repeat(5_000_000) }, never);
  expect(result.exitCode).toBe(0);
});

test("only the tail of a long output is kept, whole lines, and it says what is missing", async () => {
  const { stdout } = await runCommand(shell("seq 1 200000"), { ...options, maxOutputBytes: 1000 }, never);
  const [head = "", ...rest] = stdout.trimEnd().split("\n");
  expect(rest.at(-1)).toBe("200000");
  expect(rest[0]).toBe(String(200_001 - rest.length));
  const droppedBytes = Number(/^\[(\d+) bytes left out\]$/.exec(head)?.[1]);
  expect(droppedBytes + rest.join("\n").length + 1).toBe(1_288_895); // seq 1 200000 | wc -c
  expect(rest.join("\n").length).toBeLessThan(1000);
});

test("at its time limit the whole group goes", async () => {
  const argument = String(randomInt(1_000_000, 100_000_000));
  const result = await runCommand(shell(`sleep ${argument} & sleep ${argument}; echo never`), { ...options, timeoutMs: 300 }, never);
  expect(result).toMatchObject({ timedOut: true, exitCode: null, signal: "SIGTERM", stdout: "" });
  expect(pidsWithArgument(argument)).toEqual([]);
});

test("with a mark, those who left the group go too", async () => {
  const argument = String(randomInt(1_000_000, 100_000_000));
  const env = { ...CHILD_ENV, HARNAIS_SESSION_ID: argument };
  const mark = { name: "HARNAIS_SESSION_ID", value: argument };
  const result = await runCommand(fakeAgent("sleepers-and-exit", argument), { ...options, env, mark }, never);
  expect(result).toMatchObject({ exitCode: 0, stdout: "done\n" });
  expect(pidsWithArgument(argument)).toEqual([]);
});

test("an abort throws its reason once the process is gone", async () => {
  const controller = new AbortController();
  const argument = String(randomInt(1_000_000, 100_000_000));
  const running = runCommand(shell(`sleep ${argument}`), options, controller.signal);
  await expect.poll(() => pidsWithArgument(argument).length).toBe(1);
  controller.abort(new Error("stopped by a person"));
  await expect(running).rejects.toThrow("stopped by a person");
  expect(pidsWithArgument(argument)).toEqual([]);
});

test("a missing program is told by its name and the PATH it was looked for on", async () => {
  await expect(runCommand({ file: "no-such-program", args: [] }, options, never)).rejects.toThrow(
    expect.objectContaining({ code: "part-missing", message: expect.stringContaining("no-such-program") }),
  );
});
