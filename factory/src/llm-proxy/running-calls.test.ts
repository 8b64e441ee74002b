import { expect, test } from "vitest";
import { createRunningCalls } from "./running-calls.ts";

const HOUR_MS = 3_600_000;
const call = { abort: (): void => undefined };

test("a run is settled as soon as its last call has ended", async () => {
  const running = createRunningCalls(HOUR_MS);
  const removals = [running.add("a", call), running.add("a", { abort: call.abort }), running.add("b", call)];
  const settled = Promise.all([running.settled("a"), running.settled("a")]);
  removals[0]?.();
  expect(await Promise.race([settled, Promise.resolve("waiting")])).toBe("waiting");
  removals[1]?.();
  expect(await settled).toEqual([true, true]);
  expect(await running.settled("unknown")).toBe(true);
});

test("the wait is bounded, and says that calls are still up", async () => {
  const running = createRunningCalls(0);
  const remove = running.add("a", call);
  expect(await running.settled("a")).toBe(false);
  remove();
  expect(await running.settled("a")).toBe(true);
});

test("ending a run's calls ends every one of them and no other, though each takes itself out", () => {
  const running = createRunningCalls(HOUR_MS);
  const ended: string[] = [];
  for (const [runId, name] of [
    ["a", "a1"],
    ["a", "a2"],
    ["b", "b1"],
  ] as const) {
    const remove = running.add(runId, {
      abort(outcome) {
        ended.push(`${name} ${outcome}`);
        remove();
      },
    });
  }
  running.abortRun("a");
  expect(ended).toEqual(["a1 client-abort", "a2 client-abort"]);
  running.abortRun("a");
  running.abortAll();
  expect(ended).toEqual(["a1 client-abort", "a2 client-abort", "b1 proxy-killed"]);
});
