import { expect, test } from "vitest";
import { isAlive, ownIdentity } from "./process-identity.ts";

test("this process is alive, a pid that nobody has is not", () => {
  expect(isAlive(ownIdentity())).toBe(true);
  expect(isAlive({ pid: process.pid, started: null })).toBe(true);
  expect(isAlive({ pid: 2 ** 30, started: null })).toBe(false);
});

test.skipIf(process.platform !== "linux")("another process under the same pid is not the one that is meant", () => {
  expect(ownIdentity().started).toMatch(/^\d+$/);
  expect(isAlive({ pid: process.pid, started: "1" })).toBe(false);
});
