import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createThrottle } from "./throttle.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the first call is made at once, those of one interval are one, and the last is never lost", () => {
  const action = vi.fn<() => void>();
  const throttle = createThrottle(action, 250);
  throttle.call();
  expect(action).toHaveBeenCalledTimes(1);
  throttle.call();
  throttle.call();
  expect(action).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(250);
  expect(action).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(1000);
  expect(action).toHaveBeenCalledTimes(2);
  throttle.call();
  throttle.call();
  throttle.flush();
  expect(action).toHaveBeenCalledTimes(4);
  vi.advanceTimersByTime(1000);
  expect(action).toHaveBeenCalledTimes(4);
});
