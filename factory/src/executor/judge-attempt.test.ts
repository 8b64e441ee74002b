import { expect, test } from "vitest";
import { createPi } from "../agents/pi.ts";
import type { AttemptEvidence } from "../agents/agent-adapter.ts";
import type { EndCause } from "../launcher/process.ts";
import { FactoryError } from "../lib/errors.ts";
import { judgeAttempt, toFailure } from "./judge-attempt.ts";

const pi = createPi({ piPath: undefined, searchPath: "", probeFile: "/probe.ts" });
const limits = { timeoutMs: 900_000, idleMs: 300_000, maxTurns: 5 };

function judge(cause: EndCause, change: Partial<AttemptEvidence> = {}, hasTooManyTurns = false): ReturnType<typeof judgeAttempt> {
  const evidence: AttemptEvidence = {
    ...{ exitCode: 0, signal: null, sawFinal: true, lastStopReason: "stop", lastError: null, text: "Done.", stderrTail: "" },
    ...change,
  };
  const end = { cause, exitCode: evidence.exitCode, signal: evidence.signal, durationMs: 1, swept: 0, survivors: [] };
  return judgeAttempt({ end, evidence, hasTooManyTurns }, pi, { limits });
}

test("a normal end is no failure", () => {
  expect(judge("exit")).toBeUndefined();
});

test("a CLI that said its last word and did not leave is judged by what it said", () => {
  expect(judge("after-final", { exitCode: null, signal: "SIGKILL" })).toBeUndefined();
  expect(judge("after-final", { exitCode: null, signal: "SIGTERM", text: "" })).toMatchObject({ cause: "no-usable-output" });
});

test("limits are named with their length", () => {
  expect(judge("timeout")).toMatchObject({ cause: "timeout", reason: "no end within 15 min", retryable: true });
  expect(judge("idle-timeout")).toMatchObject({ cause: "idle-timeout", reason: "no output for 5 min", retryable: true });
  expect(judge("cancelled", {}, true)).toMatchObject({ cause: "agent", reason: expect.stringContaining("5 turns") });
});

test.each([
  ['402: {"message":"ceiling of the run reached"}', "ceiling", false],
  ['503: {"message":"bills cannot be written","code":"storage"}', "storage", false],
  ["503: overloaded", "llm-upstream", true],
  ["429: slow down", "llm-upstream", true],
  ["500: oops", "llm-upstream", true],
  ["400: bad", "llm-upstream", false],
  ["403: no", "llm-upstream", false],
  ["Connection error.: connect ECONNREFUSED", "llm-upstream", true],
])("%s → %s, retryable %s", (lastError, cause, retryable) => {
  expect(judge("exit", { lastStopReason: "error", lastError })).toMatchObject({ cause, retryable });
});

test("what is thrown around the process has its cause; a bug has none", () => {
  expect(toFailure(new FactoryError("part-missing", "pi is not installed"))).toMatchObject({ cause: "part-missing", retryable: false });
  expect(toFailure(new FactoryError("storage", "full"))).toMatchObject({ cause: "storage", retryable: false });
  expect(toFailure(new FactoryError("git-failed", "git status: no end"))).toMatchObject({ cause: "git", retryable: true });
  expect(toFailure(Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC", syscall: "write" }))).toMatchObject({
    cause: "storage",
  });
  expect(toFailure(Object.assign(new Error("spawn EAGAIN"), { code: "EAGAIN", syscall: "spawn" }))).toMatchObject({
    ...{ cause: "crashed", retryable: true },
  });
  expect(toFailure(Object.assign(new Error("spawn E2BIG"), { code: "E2BIG", syscall: "spawn" }))).toBeUndefined();
  expect(toFailure(Object.assign(new Error("spawn EACCES"), { code: "EACCES", syscall: "spawn pi" }))).toBeUndefined();
  expect(toFailure(new TypeError("undefined is not a function"))).toBeUndefined();
});
