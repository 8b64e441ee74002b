import { randomInt } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readStartTime } from "../../src/launcher/process-table.ts";
import { sweepMarked } from "../../src/launcher/sweep.ts";
import { CHILD_ENV, fakeAgent, launchForTest, launchToEnd, pidsWithArgument } from "./support/launcher.ts";

const MINUTE_MS = 60_000;

function createMark() {
  const value = `session-${randomInt(2 ** 47)}`;
  return { mark: { name: "HARNAIS_SESSION_ID", value }, env: { ...CHILD_ENV, HARNAIS_SESSION_ID: value } };
}

for (const terminal of [true, false]) {
  describe(terminal ? "on a terminal" : "on pipes", () => {
    test("after a SIGKILL of the agent none of those who left its group is alive", async () => {
      const { mark, env } = createMark();
      const argument = String(randomInt(1_000_000, 100_000_000));
      const { running, heard } = launchForTest(fakeAgent("sleepers", argument), { terminal, mark, env });
      await heard("ready");
      await expect.poll(() => pidsWithArgument(argument).length, { timeout: MINUTE_MS }).toBe(4); // with the agent itself
      process.kill(running.pid, "SIGKILL");
      const end = await running.done;
      expect(end).toMatchObject({ cause: "exit", exitCode: null, signal: "SIGKILL", swept: 3 });
      expect(pidsWithArgument(argument)).toEqual([]);
    });

    test("after a good end, too, nobody is left", async () => {
      const { mark, env } = createMark();
      const argument = String(randomInt(1_000_000, 100_000_000));
      const { end, lines } = await launchToEnd(fakeAgent("sleepers-and-exit", argument), { terminal, mark, env });
      expect(end).toMatchObject({ cause: "exit", exitCode: 0 });
      expect(lines).toEqual(["done"]);
      expect(pidsWithArgument(argument)).toEqual([]);
    });

    test("a grandchild that holds the output does not hold the end, marked or not", async () => {
      for (const marked of [true, false]) {
        const { mark, env } = createMark();
        const { running, heard } = launchForTest(fakeAgent("hold-output", randomInt(1, 9)), { terminal, env, ...(marked ? { mark } : {}) });
        await heard("done");
        // They hold it for ever.
        expect(await running.done).toMatchObject({ cause: "exit", exitCode: 0, survivors: [] });
        expect(await sweepMarked(mark)).toEqual({ ended: marked ? 0 : 2, survivors: [] });
      }
    });

    test("SIGTERM comes first: last words are heard", async () => {
      const controller = new AbortController();
      const { running, lines, heard } = launchForTest(fakeAgent("polite"), { terminal }, controller.signal);
      await heard("ready");
      controller.abort();
      expect(await running.done).toMatchObject({ cause: "cancelled", exitCode: 143, signal: null });
      expect(lines).toEqual(["ready", "last words"]);
    });

    test("a cancelled process that ignores SIGTERM is killed", async () => {
      const controller = new AbortController();
      const { running, lines, heard } = launchForTest(fakeAgent("stubborn"), { terminal }, controller.signal);
      await heard("ready");
      controller.abort();
      expect(await running.done).toMatchObject({ cause: "cancelled", exitCode: null, signal: "SIGKILL" });
      expect(lines).toEqual(["ready", "no"]);
      expect(readStartTime(running.pid)).toBeNull();
    });

    test("silence ends it by the idle limit, endless talk by the whole duration", async () => {
      const [idle, timeout] = await Promise.all([
        launchToEnd(fakeAgent("silent"), { terminal, limits: { timeoutMs: MINUTE_MS, idleMs: 1500 } }),
        launchToEnd(fakeAgent("chatty"), { terminal, limits: { timeoutMs: 3000, idleMs: 2500 } }),
      ]);
      expect(idle.end).toMatchObject({ cause: "idle-timeout", signal: "SIGTERM" });
      expect(timeout.end).toMatchObject({ cause: "timeout", signal: "SIGTERM" });
    });

    test("after its last word a process has its grace, then the ladder", async () => {
      const stays = launchForTest(fakeAgent("polite"), { terminal });
      const leaves = launchForTest(fakeAgent("lines", 3), { terminal });
      leaves.running.expectEnd(MINUTE_MS);
      await stays.heard("ready");
      stays.running.expectEnd(100);
      expect(await stays.running.done).toMatchObject({ cause: "after-final", exitCode: 143 });
      expect(await leaves.running.done).toMatchObject({ cause: "exit", exitCode: 7 });
    });
  });
}

test("the pid and its start time name one process", async () => {
  const { running, heard } = launchForTest(fakeAgent("polite"));
  await heard("ready");
  expect(running.startTime).toMatch(/^\d+$/);
  expect(readStartTime(running.pid)).toBe(running.startTime);
  process.kill(running.pid, "SIGTERM");
  await running.done;
  expect(readStartTime(running.pid)).toBeNull();
});

test("an aborted signal starts nothing", () => {
  expect(() => launchForTest({ file: "true", args: [] }, {}, AbortSignal.abort(new Error("too late")))).toThrow("too late");
});

test("the sweep spares other sessions, and names whom it had no time to end", async () => {
  const one = createMark();
  const other = createMark();
  const spared = launchForTest(fakeAgent("polite"), { ...other });
  const swept = launchForTest(fakeAgent("polite"), { ...one });
  await Promise.all([spared.heard("ready"), swept.heard("ready")]);
  expect(await sweepMarked(one.mark, 0)).toEqual({ ended: 0, survivors: [swept.running.pid] });
  expect(await sweepMarked(one.mark)).toEqual({ ended: 1, survivors: [] });
  expect(await swept.running.done).toMatchObject({ signal: "SIGKILL" });
  expect(readStartTime(spared.running.pid)).toBe(spared.running.startTime);
  process.kill(spared.running.pid, "SIGTERM");
  expect(await spared.running.done).toMatchObject({ exitCode: 143 });
});
