import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Journals, openJournalsFolder, writeRun } from "./support/journals.ts";

const CLI = join(import.meta.dirname, "../../src/cli.ts");
const RUN = "a1b2c3d4";
let journals: Journals;
beforeEach(() => void (journals = openJournalsFolder()));
afterEach(() => journals.remove());

function harnais(...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    cwd: journals.dataDir,
    env: { PATH: process.env["PATH"], HARNAIS_DATA_DIR: journals.dataDir },
    encoding: "utf8",
  });
  return { code: status, stdout, stderr };
}

const CALLS = [
  { input: 1200, output: 50, end: "toolUse" },
  { input: 1400, output: 60 },
] as const;

test("`trace ingest` prints what it mirrored and where; --quiet prints nothing; --db names another file", () => {
  writeRun(journals, RUN, [{ calls: CALLS }]);
  expect(harnais("trace", "ingest")).toEqual({ code: 0, stdout: `7 harness events mirrored into ${journals.dbFile}\n`, stderr: "" });
  expect(harnais("trace", "ingest")).toMatchObject({ stdout: `0 harness events mirrored into ${journals.dbFile}\n` });
  expect(harnais("trace", "ingest", "--quiet", "--db", "other.db")).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(readdirSync(journals.dataDir)).toContain("other.db");
  expect(harnais("trace", "ingest", "--db", "nowhere/other.db")).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/--db: the folder .*nowhere does not exist/) as string,
  });
});

test("`trace last` prints the newest run, phase by phase, with the harness's and the runner's figures", () => {
  writeRun(journals, "00000001", [{ calls: [CALLS[1]] }]);
  writeRun(journals, RUN, [{ calls: CALLS }]);
  const money = "~$0.0095";
  expect(harnais("trace", "last")).toEqual({
    code: 0,
    stdout: `run ${RUN} (prompt) — done — ${money} (runner)\n01 prompt  agent  2 turns, 0 tools, 2710 tokens, ${money} (harness) / ${money} (runner)\n`,
    stderr: "",
  });
  expect(JSON.parse(harnais("trace", "last", "--json").stdout)).toMatchObject({
    runId: RUN,
    costUsd: 0.00945,
    phases: [{ harness: { turns: 2, costUsd: 0.00945 } }],
  });
});

test("a phase without trace is neither a bug nor a zero", () => {
  writeRun(journals, RUN, [{ calls: CALLS }]);
  journals.edit(journals.file("harness", `session-${RUN}`), () => undefined);
  expect(harnais("trace", "last").stdout).toContain(
    "01 prompt  agent  no harness trace (session never started? probe not loaded?) / ~$0.0095 (runner)",
  );
});

test("no journal, or an empty one: it says which, exit 1", () => {
  expect(harnais("trace", "last")).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("no journal in ") as string });
  mkdirSync(join(journals.dataDir, "traces"));
  writeFileSync(journals.file("run", RUN), "");
  expect(harnais("trace", "last")).toMatchObject({ code: 1, stderr: expect.stringMatching(/the journal in .* is empty/) as string });
});

test("`trace check` exits 1 only for a difference that nothing recorded explains", () => {
  writeRun(journals, RUN, [
    { calls: [CALLS[0], { input: 2000, output: 30, missing: ["harness", "runner"] }], status: "failed", cause: "timeout" },
  ]);
  const explained = harnais("trace", "check", RUN);
  expect(explained.code).toBe(0);
  expect(explained.stdout).toContain(
    `explained ${RUN}-01-a1-c2: unfinished call: the attempt was ended (timeout) (proxy $0.00645; ~$0.00645)`,
  );
  writeRun(journals, "0000000f", [{ calls: [CALLS[0], { input: 2000, output: 30, missing: ["harness", "runner"] }] }]);
  const unexplained = harnais("trace", "check");
  expect(unexplained.code).toBe(1);
  expect(unexplained.stdout).toContain(
    "UNEXPLAINED 0000000f-01-a1-c2: neither the harness nor the runner has it (proxy $0.00645; ~$0.00645)",
  );
  expect(unexplained.stdout).toContain("2 runs: 1 difference explained, 1 unexplained");
  expect(JSON.parse(harnais("trace", "check", "--json").stdout)).toMatchObject({ explained: 1, unexplained: 1 });
  expect(harnais("trace", "check", "ffffffff")).toMatchObject({ code: 2, stderr: expect.stringContaining("no run ffffffff") as string });
});

test("`trace explain` gives the money per phase, attempt and turn, and the three costliest turns with their head", () => {
  writeRun(journals, RUN, [
    { calls: [...CALLS, { input: 10, output: 1 }] },
    { calls: [{ input: 30_000, output: 900 }], label: "validation-repair" },
  ]);
  const { code, stdout } = harnais("trace", "explain", RUN);
  expect(code).toBe(0);
  const lines = stdout.split("\n");
  expect(lines).toContain("   attempt 2 (validation-repair), done: 30900 tokens, ~$0.1035, 92 % of the run");
  expect(lines.slice(lines.indexOf("the costliest turns:") + 1, -1)).toEqual([
    "   turn 1 of prompt, attempt 2: 30900 tokens, ~$0.1035, 92 % of the run — What?",
    "   turn 2 of prompt, attempt 1: 1460 tokens, ~$0.0051, 5 % of the run — What?",
    "   turn 1 of prompt, attempt 1: 1250 tokens, ~$0.0043, 4 % of the run — What?",
  ]);
});

test("`trace selftest` prints its figures", () => {
  expect(harnais("trace", "selftest")).toMatchObject({
    code: 0,
    stdout: "trace OK — 3 lines mirrored, 0 on replay, 2 joined to the phase, 1500 tokens\n",
  });
});
