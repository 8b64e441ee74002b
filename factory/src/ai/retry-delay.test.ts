import { expect, test } from "vitest";
import { toRetryDelayMs } from "./retry-delay.ts";

const NOW = Date.parse("2026-01-02T03:04:05Z");

test.each([
  [2, null, 500],
  [3, null, 1000],
  [2, "7", 7000],
  [2, "0", 0],
  [2, " 60 ", 60_000],
  [2, "61", undefined],
  [2, "Fri, 02 Jan 2026 03:04:15 GMT", 10_000],
  [2, "Fri, 02 Jan 2026 03:00:00 GMT", 0],
  [2, "Fri, 02 Jan 2026 04:04:15 GMT", undefined],
  [3, "soon", 1000],
  [2, "", 500],
])("before try %i with Retry-After %j: %j ms", (next, retryAfter, expected) => {
  expect(toRetryDelayMs(next, retryAfter, NOW)).toBe(expected);
});
