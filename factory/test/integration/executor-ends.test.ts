import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import type { JobProgress } from "../../src/executor/job.ts";
import { type ExecutorHouse, openHouse, runQuietly, type ScenarioFile, toJob, watchJob } from "./support/executor-house.ts";

let house: ExecutorHouse;
afterEach(() => house.close());

const PATIENT = { timeout: 60_000, interval: 50 };
const inTool = ({ lastTool, tools }: JobProgress): boolean => lastTool === "bash" && tools === 0;

/** A tool that leaves sleepers behind in every way, each with the same odd duration to be found by, then never ends. */
function sleeperScenario(mark: string): ScenarioFile {
  const sleep = `sleep ${mark}`;
  const command = `setsid ${sleep} & nohup ${sleep} >/dev/null 2>&1 & (setsid sh -c '${sleep} & ${sleep}' &) ; (${sleep} &) ; ${sleep}`;
  return {
    name: "test-sleepers",
    rules: [
      { when: { user: "(?i:go on)" }, then: { text: "Well again.", usage: { input: 100, output: 10 } } },
      { when: { turn: 1 }, then: { tools: [{ name: "bash", args: { command } }], usage: { input: 1000, output: 50 } } },
    ],
  };
}

const randomSeconds = (): string => `98${randomBytes(3).readUIntBE(0, 3)}`;

/** Command lines of living processes that hold the mark as a word. */
function findByArgument(mark: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      } catch {
        return ""; // gone since
      }
    })
    .filter((line) => line.split(/[ ;&']+/).includes(mark));
}

test("cancelling in a tool that never ends: settled within 10 s, no process is left, what was spent is kept", async () => {
  const mark = randomSeconds();
  house = await openHouse({ scenarios: [sleeperScenario(mark)] });
  const observer = watchJob();
  const cancel = new AbortController();
  const running = house.runJob(toJob(house, { model: "rehearsal/test-sleepers", mode: "code" }), observer, cancel.signal);
  await observer.seen(inTool);
  await expect.poll(() => findByArgument(mark).length, PATIENT).toBeGreaterThan(3);
  const cancelledAt = performance.now();
  cancel.abort(new Error("the operator changed their mind"));
  const outcome = await running;
  expect(performance.now() - cancelledAt).toBeLessThan(10_000);
  expect(outcome).toMatchObject({ type: "cancelled", reason: "the operator changed their mind" });
  expect(outcome.calls[0]).toMatchObject({ kind: "assistant", tokens: 1050, stop_reason: "toolUse" });
  expect(findByArgument(mark)).toEqual([]);
});

test("pi killed in a tool: crashed, no sleeper survives, and a further attempt goes on in the same session", async () => {
  const mark = randomSeconds();
  house = await openHouse({ scenarios: [sleeperScenario(mark)] });
  const observer = watchJob();
  const job = toJob(house, { model: "rehearsal/test-sleepers", mode: "code", prompt: "start" });
  const running = house.runJob(job, observer, new AbortController().signal);
  await observer.seen(inTool);
  await expect.poll(() => findByArgument(mark).length, PATIENT).toBeGreaterThan(3);
  process.kill(observer.pids[0] ?? 0, "SIGKILL");
  expect(await running).toMatchObject({ type: "failed", cause: "crashed", retryable: true, reason: expect.stringContaining("SIGKILL") });
  expect(findByArgument(mark)).toEqual([]);
  expect(house.trace(job.sessionId).at(-1)?.type).toBe("tool_start");

  const again = { ...job, jobId: `${job.phaseId}-a2`, attempt: 2, resume: true, mode: "explore" as const, prompt: "go on" };
  const outcome = await house.runJob(again, observer, new AbortController().signal);
  expect(outcome).toMatchObject({ type: "done", text: "Well again.", tokens: 110 });
  const starts = house.trace(job.sessionId).filter((line) => line.type === "session_start");
  expect(starts.map((line) => line.payload["pid"])).toEqual(observer.pids);
});

test("pi killed in mid-stream: the call that began is booked as unseen, its cost unknown", async () => {
  const rules = [{ then: { text: "words and words", fault: { stall: true } } }];
  house = await openHouse({ scenarios: [{ name: "test-stalls", rules }] });
  const observer = watchJob();
  const running = house.runJob(toJob(house, { model: "rehearsal/test-stalls" }), observer, new AbortController().signal);
  await expect.poll(() => house.proxy.rehearsal.count(), PATIENT).toBe(1);
  process.kill(observer.pids[0] ?? 0, "SIGKILL");
  const outcome = await running;
  expect(outcome).toMatchObject({ type: "failed", cause: "crashed", tokens: null, cost: { nanoUsd: null, complete: false } });
  expect(outcome.calls).toEqual([{ kind: "unseen", response_id: null, label: "agent", tokens: null, cost_usd: null, stop_reason: null }]);
  expect(house.bills()).toMatchObject([{ outcome: "client-abort", usage_source: "estimated" }]);
});

test("the timeout ends a tool that goes on, and says so", async () => {
  const mark = randomSeconds();
  house = await openHouse({ scenarios: [sleeperScenario(mark)] });
  const limits = { timeoutMs: 5000, idleMs: 60_000 };
  const outcome = await runQuietly(house, toJob(house, { model: "rehearsal/test-sleepers", mode: "code", limits }));
  expect(outcome).toMatchObject({ type: "failed", cause: "timeout", reason: "no end within 5 s", retryable: true });
  expect(findByArgument(mark)).toEqual([]);
});

test("a signal that is aborted before the start: cancelled, nothing was started", async () => {
  house = await openHouse();
  const observer = watchJob();
  const outcome = await house.runJob(toJob(house, { model: "wire/m" }), observer, AbortSignal.abort());
  expect(outcome).toMatchObject({ type: "cancelled", tokens: 0, calls: [] });
  expect(observer.pids).toEqual([]);
});

test("one process per session: a second job of a live session is refused, the first goes on", async () => {
  const rules = [{ when: { turn: 1 }, then: { text: "slow but well", delayMs: 1500 } }];
  house = await openHouse({ scenarios: [{ name: "test-slow", rules }] });
  const job = toJob(house, { model: "rehearsal/test-slow" });
  const [first, second] = await Promise.all([
    runQuietly(house, job),
    runQuietly(house, { ...job, jobId: `${job.phaseId}-a2`, attempt: 2 }),
  ]);
  expect(first).toMatchObject({ type: "done", text: "slow but well" });
  expect(second).toMatchObject({ type: "failed", retryable: false, reason: expect.stringContaining("live process") });
});
