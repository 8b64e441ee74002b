import { expect, test } from "vitest";
import type { AttemptEvidence } from "./agent-adapter.ts";
import { judgePi } from "./judge-pi.ts";

const well: AttemptEvidence = {
  exitCode: 0,
  signal: null,
  sawFinal: true,
  lastStopReason: "stop",
  lastError: null,
  text: "Done.",
  stderrTail: "",
};

test("exit 0, the final event, a call that stopped by itself and a text: a success", () => {
  expect(judgePi(well)).toEqual({ ok: true });
});

test.each<[string, Partial<AttemptEvidence>, string, RegExp]>([
  ["killed", { exitCode: null, signal: "SIGKILL", sawFinal: false }, "crashed", /SIGKILL/],
  ["killed after its last event", { exitCode: null, signal: "SIGKILL" }, "crashed", /SIGKILL/],
  ["ended by SIGTERM from outside", { exitCode: 143, lastStopReason: "aborted" }, "crashed", /143/],
  ["refused, exit 0 as in json mode", { lastStopReason: "error", lastError: "401: {\n bad key}" }, "llm-upstream", /401: \{ bad key/],
  ["refused, exit 1", { exitCode: 1, lastStopReason: "error", lastError: null }, "llm-upstream", /no reason given/],
  [
    "broken extension",
    { exitCode: 1, sawFinal: false, lastStopReason: null, stderrTail: "a\nFailed to load extension x\n\n" },
    "agent",
    /Failed to load extension x$/,
  ],
  ["no final event", { sawFinal: false }, "agent", /final event/],
  ["no call at all", { lastStopReason: null }, "agent", /no model call/],
  ["cut at the output limit, exit 0", { lastStopReason: "length" }, "no-usable-output", /length/],
  ["aborted", { lastStopReason: "aborted" }, "crashed", /aborted/],
  ["stopped to call a tool", { lastStopReason: "toolUse" }, "agent", /toolUse/],
  ["empty text", { text: " \n" }, "no-usable-output", /empty/],
])("%s is no success", (_case, change, cause, reason) => {
  expect(judgePi({ ...well, ...change })).toEqual({ ok: false, cause, reason: expect.stringMatching(reason) });
});

test("the reason is one line of bearable length", () => {
  expect(judgePi({ ...well, lastStopReason: "error", lastError: "line\n".repeat(10_000) })).toEqual({
    ok: false,
    cause: "llm-upstream",
    reason: expect.stringMatching(/^[^\n]{10,500}$/),
  });
});
