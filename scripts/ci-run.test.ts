import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

/** Status and last line of `.ci/run` in a folder of its own, where `npm` and the PostgreSQL script are small programs that stand for the real ones. */
function runCi({ npm, postgres }: { readonly npm: string; readonly postgres: string }): [number | null, string] {
  const root = mkdtempSync(join(tmpdir(), "harnais-ci-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "bin"));
  mkdirSync(join(root, "scripts"));
  cpSync(join(import.meta.dirname, "..", ".ci"), join(root, ".ci"), { recursive: true });
  writeFileSync(join(root, "scripts", "ci-postgres.sh"), postgres);
  const programs = { npm, "apt-get": "exit 0", git: "exit 0" };
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(root, "bin", name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(root, "bin", name), 0o755);
  }
  const path = `${join(root, "bin")}${delimiter}${process.env["PATH"] ?? ""}`;
  const { status, stdout } = spawnSync("bash", [join(root, ".ci", "run")], { encoding: "utf8", env: { PATH: path } });
  return [status, stdout.trimEnd().split("\n").at(-1) ?? ""];
}

const POSTGRES = 'if [ "$1" = start ]; then echo postgres://x; fi';
const GREEN = "7 passed, 0 failed, 2 skipped";
const RED = "6 passed, 1 failed, 2 skipped";
const NONE = "0 passed, 1 failed, 0 skipped";

test.each([
  ["green", `[ "$1" = run ] || echo "${GREEN}"`, POSTGRES, [0, GREEN]],
  ["a red test", `[ "$1" = run ] && exit 0; echo "${RED}"; exit 1`, POSTGRES, [1, RED]],
  ["tests that died with 4, saying nothing", '[ "$1" = run ] && exit 0; exit 4', POSTGRES, [1, NONE]],
  ["figures of green tests before a death", `[ "$1" = run ] && exit 0; echo "${GREEN}"; kill -9 $$`, POSTGRES, [1, NONE]],
  ["figures that belie the status", `[ "$1" = run ] || echo "${RED}"`, POSTGRES, [1, RED]],
  ["a red check", "exit 1", POSTGRES, [1, NONE]],
  ["no PostgreSQL", "exit 0", "exit 4", [1, NONE]],
])("%s ends with the line of figures", (_what, npm, postgres, end) => {
  expect(runCi({ npm, postgres })).toEqual(end);
});
