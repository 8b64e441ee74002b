import { expect, test } from "vitest";
import { isAlive, ownIdentity } from "./process-table.ts";

test("this process is alive, a pid that nobody has is not", () => {
  expect(isAlive(ownIdentity())).toBe(true);
  expect(isAlive({ pid: process.pid, startTime: null })).toBe(true);
  expect(isAlive({ pid: 2 ** 30, startTime: null })).toBe(false);
});

test.skipIf(process.platform !== "linux")("another process under the same pid is not the one that is meant", () => {
  expect(ownIdentity().startTime).toMatch(/^\d+$/);
  expect(isAlive({ pid: process.pid, startTime: "1" })).toBe(false);
});
