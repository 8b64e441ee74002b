import { closeSync, cpSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomHex } from "@harnais/contracts/ids.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommandLine } from "./support/command-line.ts";
import { openFactory, type RunningFactory } from "./support/running-factory.ts";

// A number of seconds that nobody else sleeps for: how the sleepers are found again.
const MARK = `3${Math.floor(Math.random() * 1e6)}.${parseInt(randomHex(3), 16)}`;
const SLEEPERS = `setsid sleep ${MARK} & nohup sleep ${MARK} >/dev/null 2>&1 & (sh -c 'sleep ${MARK} &' &); sleep ${MARK}`;

const SCENARIO = {
  name: "sleepers",
  price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 },
  rules: [
    {
      when: { system: "harnais phase: plan" },
      then: { json: { summary: "s", steps: ["one"], files: ["a.md"] }, usage: { input: 100, cached: 0, output: 10 } },
    },
    {
      when: { system: "harnais phase: build", toolResult: "^Successfully wrote" },
      then: { text: "Done.", usage: { input: 300, cached: 0, output: 30 } },
    },
    {
      when: { system: "harnais phase: build", user: "^The previous attempt failed" },
      then: { tools: [{ name: "write", args: { path: "docs/a.md", content: "a\n" } }], usage: { input: 200, cached: 0, output: 20 } },
    },
    {
      when: { system: "harnais phase: build" },
      then: { tools: [{ name: "bash", args: { command: SLEEPERS } }], usage: { input: 150, cached: 50, output: 15 } },
    },
  ],
};

let factory: RunningFactory;
let scenarios: string;
beforeAll(async () => {
  scenarios = writeScenario();
  factory = await openFactory({ env: { HARNAIS_SCENARIOS: scenarios } });
});
afterAll(async () => {
  await factory.close();
  rmSync(scenarios, { recursive: true, force: true });
});

function writeScenario(): string {
  const folder = mkdtempSync(join(tmpdir(), "harnais-scenarios-"));
  writeFileSync(join(folder, "sleepers.yaml"), JSON.stringify(SCENARIO));
  return folder;
}

/** Command lines of living processes that sleep for our number. */
function sleepers(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        return line === `sleep ${MARK}` ? [line] : [];
      } catch {
        return [];
      }
    });
}

const traceCheck = (runId: string) =>
  runCommandLine(["trace", "check", runId, "--db", join(factory.dataDir, `check-${randomHex(3)}.db`)], {
    cwd: factory.plume,
    env: { HARNAIS_DATA_DIR: factory.dataDir },
  });

describe.runIf(process.platform === "linux")("an agent killed from outside", () => {
  test("takes no process with it into the next attempt, which goes on in the same session", async () => {
    const runId = await factory.start({ workflow: "change", input: "Attends un peu", model: "rehearsal/sleepers" });
    await expect.poll(() => sleepers().length, { timeout: 60_000 }).toBe(4);
    const session = factory.events(runId).findLast(({ type }) => type === "phase_session")?.payload["session_id"] as string;
    const pid = factory.harness(session).find(({ type }) => type === "session_start")?.payload["pid"] as number;
    process.kill(pid, "SIGKILL");

    const report = await factory.finished(runId);
    expect(sleepers()).toEqual([]);
    expect(report.status).toBe("done");
    const build = report.phases.find(({ name }) => name === "build");
    expect(build?.sessions).toEqual([session]);
    expect(build?.attempts.map(({ status, cause }) => [status, cause])).toEqual([
      ["failed", "crashed"],
      ["done", undefined],
    ]);
    // The trace is readable up to the freeze, and goes on after it.
    const types = factory.harness(session).map(({ type }) => type);
    expect(types.indexOf("tool_start")).toBeLessThan(types.lastIndexOf("session_start"));
    expect(types.at(-1)).toBe("session_shutdown");

    const check = await traceCheck(runId);
    expect([check.exitCode, check.stdout]).toEqual([0, expect.stringContaining("the books agree")]);
  });
});

describe("a run cancelled in mid-stream", () => {
  test("leaves a gap that the check explains, with cause and amount; not recorded, the gap is unexplained", async () => {
    const runId = await factory.start({ workflow: "prompt", input: "Attends", model: "rehearsal/stall" });
    await expect.poll(() => readBills().some((line) => line.includes(runId)), { timeout: 30_000 }).toBe(true);
    await expect.poll(() => factory.harness(sessionOf(runId)).some(({ type }) => type === "turn_start"), { timeout: 30_000 }).toBe(true);
    await factory.send(`/api/runs/${runId}/cancel`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    expect(await factory.finished(runId)).toMatchObject({ status: "cancelled" });

    const explained = await traceCheck(runId);
    expect(explained.exitCode).toBe(0);
    expect(explained.stdout).toMatch(/explained .*-a1-c1/);
    expect(explained.stdout).toMatch(/1 difference explained, 0 unexplained/);

    // The same journals, but the runner says that the attempt ended well.
    const file = join(factory.dataDir, "traces", `${runId}.jsonl`);
    const kept = readFileSync(file, "utf8");
    writeFileSync(file, kept.replace(/"ok":false,"status":"cancelled","cause":"cancelled"/g, '"ok":true,"status":"done","cause":null'));
    const unexplained = await traceCheck(runId);
    writeFileSync(file, kept);
    expect(unexplained.exitCode).toBe(1);
    expect(unexplained.stdout).toMatch(/UNEXPLAINED .*-a1-c1/);
  });
});

describe("what no run claims", () => {
  test("is unexplained when all runs are checked: bills without a runner's journal, a mirror that is damaged says so", async () => {
    const runId = await factory.start({ workflow: "prompt", input: "Que fait ce projet ?" });
    await factory.finished(runId);
    await factory.finished(await factory.start({ workflow: "prompt", input: "Et les tests ?" }));
    const folder = join(factory.dataDir, "orphan");
    cpSync(join(factory.dataDir, "traces"), join(folder, "traces"), { recursive: true });
    const check = () => runCommandLine(["trace", "check"], { cwd: factory.plume, env: { HARNAIS_DATA_DIR: folder } });
    expect((await check()).stdout).not.toContain("which no journal knows");
    rmSync(join(folder, "traces", `${runId}.jsonl`));
    for (const end of ["", "-wal", "-shm"]) rmSync(join(folder, `factory.db${end}`), { force: true });
    const orphaned = await check();
    expect(orphaned.exitCode).toBe(1);
    expect(orphaned.stdout).toMatch(new RegExp(`UNEXPLAINED ${runId}-01-a1-c1: \\d bills of run ${runId}, which no journal knows`));

    const mirror = openSync(join(folder, "factory.db"), "r+");
    writeSync(mirror, Buffer.alloc(40_000, 7), 0, 40_000, 4096);
    closeSync(mirror);
    const damaged = await check();
    expect([damaged.exitCode, damaged.stderr.includes("it is rebuilt from the raw files [storage]")]).toEqual([4, true]);
  });
});

const sessionOf = (runId: string): string =>
  (factory.events(runId).find(({ type }) => type === "phase_session")?.payload["session_id"] as string | undefined) ?? "none";

function readBills(): string[] {
  const folder = join(factory.dataDir, "traces", "bills");
  return readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"));
}
