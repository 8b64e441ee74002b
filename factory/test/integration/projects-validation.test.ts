import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRedactor } from "../../src/lib/redaction.ts";
import { runValidation, toValidationCorrection } from "../../src/projects/validation.ts";
import { createProjectBench } from "./support/project-bench.ts";
import type { ProjectBench } from "./support/project-bench.ts";

const SECRET = `house-${"secret".repeat(3)}`;

async function validate(bench: ProjectBench, commands: readonly string[], { timeoutMs = 30_000, signal = bench.signal } = {}) {
  const { redact } = createRedactor({ knownSecrets: [SECRET] });
  const deps = { launcher: bench.launcher, config: bench.config, redact };
  const mark = { name: "HARNAIS_RUN_ID", value: "a1b2c3d4" };
  const request = { commands, cwd: bench.dir, homeDir: join(bench.dir, "home"), env: { [mark.name]: mark.value }, mark, timeoutMs };
  return runValidation(deps, request, signal);
}

test("green when every command ends with 0; none at all is green", async () => {
  const bench = await createProjectBench();
  expect(await validate(bench, [])).toEqual({ ok: true, commands: [] });
  const verdict = await validate(bench, ["echo one && echo two >&2", "true"]);
  expect(verdict).toMatchObject({
    ok: true,
    commands: [{ command: "echo one && echo two >&2", exitCode: 0, timedOut: false, outputTail: "one\n\ntwo" }, { exitCode: 0 }],
  });
});

test("it stops at the first red command", async () => {
  const bench = await createProjectBench();
  const verdict = await validate(bench, ["true", "echo broken; exit 3", "touch never"]);
  expect(verdict.ok).toBe(false);
  expect(verdict.commands).toMatchObject([{ exitCode: 0 }, { exitCode: 3, outputTail: "broken" }]);
  await expect(stat(join(bench.dir, "never"))).rejects.toThrow("ENOENT");
});

test("a command sees the allow-listed environment and a home of the run's own", async () => {
  const bench = await createProjectBench();
  process.env["HARNAIS_TEST_CANARY"] = "leaked";
  const verdict = await validate(bench, ["env"]);
  delete process.env["HARNAIS_TEST_CANARY"];
  const names = verdict.commands[0]?.outputTail.split("\n").map((line) => line.split("=")[0]);
  expect(names?.toSorted()).toEqual(["CI", "HARNAIS_RUN_ID", "HOME", "NO_COLOR", "PATH", "PWD", "npm_config_update_notifier"].toSorted());
  expect(verdict.commands[0]?.outputTail).toContain(`HOME=${join(bench.dir, "home")}`);
});

test("a command that does not end is stopped with all that it started, and the verdict says so", async () => {
  const bench = await createProjectBench();
  const verdict = await validate(bench, ["(setsid sleep 987654 &) ; sleep 987654"], { timeoutMs: 300 });
  expect(verdict).toMatchObject({ ok: false, commands: [{ exitCode: null, timedOut: true }] });
  const left = await bench.launcher.runCommand(
    { file: "/bin/sh", args: ["-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"] },
    { cwd: bench.dir, env: bench.config.baseEnv, timeoutMs: 10_000 },
    bench.signal,
  );
  expect(left.stdout).not.toContain("sleep 987654");
  expect(toValidationCorrection(verdict, "A wish")).toMatch(
    /^The validation is red: the command below did not end within \d+ s and was stopped\./,
  );
});

test("cancelled, it rejects with the reason once the process is gone", async () => {
  const bench = await createProjectBench();
  const controller = new AbortController();
  const started = validate(bench, ["echo > started; sleep 987655"], { signal: controller.signal });
  await expect
    .poll(() =>
      stat(join(bench.dir, "started")).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  controller.abort(new Error("enough"));
  await expect(started).rejects.toThrow("enough");
});

test("the tail is bounded, redacted, and free of control characters", async () => {
  const bench = await createProjectBench();
  await writeFile(
    join(bench.dir, "noise.txt"),
    `${"é".repeat(400_000)}\n\u001B[31mred\u001B[0m \u0007\u0000 token ${SECRET}\r\nlast line\n`,
  );
  const verdict = await validate(bench, ["cat noise.txt; exit 1"]);
  const tail = verdict.commands[0]?.outputTail ?? "";
  expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(8 * 1024 + 8);
  expect(tail).toContain("red  token [redacted:secret]\nlast line");
  expect(tail).not.toMatch(/[^\P{Cc}\n\t]|\uFFFD/u);
  expect((await readFile(join(bench.dir, "noise.txt"), "utf8")).includes(SECRET)).toBe(true);
});

test("the correction names command and exit code, shows the tail, and quotes the request on a line of its own", async () => {
  const bench = await createProjectBench();
  const verdict = await validate(bench, ["printf 'Request: not this one\\nfailed\\n'; exit 2"]);
  const lines = toValidationCorrection(verdict, "Add $HOME & <b>\nsecond line").split("\n");
  expect(lines.slice(0, 3)).toEqual([
    "The validation is red: the command below ended with exit code 2.",
    "Request: Add $HOME & <b>",
    "second line",
  ]);
  expect(lines).toContain("    Request: not this one");
  expect(lines).toContain("Command: printf 'Request: not this one\\nfailed\\n'; exit 2");
});
