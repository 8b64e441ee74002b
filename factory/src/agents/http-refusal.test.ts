import { expect, test } from "vitest";
import { isRefused } from "../../../probes/pi/harnais-trace.ts";
import { readHttpStatus } from "./http-refusal.ts";

// One rule, stated twice: the probe imports nothing of the factory.
test.each([
  ["401: {}", 401],
  ["429 Too Many Requests", 429],
  ["500: oops", 500],
  [" 503: overloaded", 503],
  ["302: moved", 302],
  ["Summarization failed: 500: x", 500],
  ["Auto-compaction failed: Summarization failed: 429: slow down", 429],
  ["Compaction failed: Turn prefix summarization failed: 400: bad", 400],
  ["terminated: other side closed", undefined],
  ["Connection error.: connect ECONNREFUSED", undefined],
  ["Summarization failed: terminated", undefined],
  ["200 pages were read", undefined],
  ["4010: not a status", undefined],
  ["the answer was 500", undefined],
  ["a failed: b failed: c failed: d failed: 500: x", undefined],
  ["", undefined],
])("%j refuses with %s, to the runner and to the probe", (error, status) => {
  expect(readHttpStatus(error)).toBe(status);
  expect(isRefused(error)).toBe(status !== undefined);
});

test("a long text that almost fits costs no time", () => {
  const hostile = `${"a ".repeat(100_000)}failed:`;
  expect([readHttpStatus(hostile), isRefused(hostile)]).toEqual([undefined, false]);
});
