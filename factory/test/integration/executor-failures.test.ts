import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type ExecutorHouse, openHouse, runQuietly, toJob } from "./support/executor-house.ts";

let house: ExecutorHouse;
afterEach(() => house.close());

const DONE = { text: "done", usage: { input: 10, output: 5 } };

describe("the provider fails", () => {
  test("401: refused at once, with the provider's words; a further attempt would fail alike; the call cost a known 0", async () => {
    house = await openHouse({ answer: () => ({ status: 401, message: "no such key" }) });
    const outcome = await runQuietly(house, toJob(house, { model: "wire/m" }));
    expect(outcome).toMatchObject({
      type: "failed",
      cause: "llm-upstream",
      retryable: false,
      tokens: 0,
      cost: { nanoUsd: 0, complete: true },
    });
    expect(outcome).toHaveProperty("reason", expect.stringContaining("no such key"));
    expect(house.provider.requests).toHaveLength(1);
  });

  test("500 once, then well: pi tries again, both calls are counted", async () => {
    house = await openHouse({ answer: (n) => (n === 1 ? { status: 500, message: "try later" } : DONE) });
    const outcome = await runQuietly(house, toJob(house, { model: "wire/m" }));
    expect(outcome).toMatchObject({ type: "done", text: "done", tokens: 15 });
    expect(outcome.calls.map((call) => [call.kind, call.stop_reason, call.tokens])).toEqual([
      ["assistant", "error", 0],
      ["assistant", "stop", 15],
    ]);
  });

  test("500 for good: two tries, not pi's default of four, then a failure that may be tried again", async () => {
    house = await openHouse({ answer: () => ({ status: 500, message: "broken" }) });
    expect(await runQuietly(house, toJob(house, { model: "wire/m" }))).toMatchObject({
      type: "failed",
      cause: "llm-upstream",
      retryable: true,
    });
    expect(house.provider.requests).toHaveLength(2);
  });

  test("a stream that is cut: failed, its cost unknown to pi and estimated by the proxy", async () => {
    house = await openHouse({
      scenarios: [{ name: "test-cut", rules: [{ then: { text: "a long answer that is cut", fault: { cutAfterChunks: 2 } } }] }],
    });
    const outcome = await runQuietly(house, toJob(house, { model: "rehearsal/test-cut" }));
    expect(outcome).toMatchObject({ type: "failed", cause: "llm-upstream", tokens: null, cost: { nanoUsd: null, complete: false } });
    expect(outcome.calls).toMatchObject([{ cost_usd: null }, { cost_usd: null }]);
    expect(house.bills()).toMatchObject([{ usage_source: "estimated" }, { usage_source: "estimated" }]);
  });

  test("a stream that stalls ends at the idle limit", async () => {
    house = await openHouse({ scenarios: [{ name: "test-stall", rules: [{ then: { text: "it stalls here", fault: { stall: true } } }] }] });
    const limits = { timeoutMs: 90_000, idleMs: 3000 };
    const outcome = await runQuietly(house, toJob(house, { model: "rehearsal/test-stall", limits }));
    expect(outcome).toMatchObject({ type: "failed", cause: "idle-timeout", reason: "no output for 3 s", retryable: true });
    expect(outcome.cost).toEqual({ nanoUsd: null, complete: false });
  });

  test("no usage in the answer: unknown, not free", async () => {
    house = await openHouse({ answer: () => ({ text: "done" }) });
    expect(await runQuietly(house, toJob(house, { model: "wire/m" }))).toMatchObject({
      type: "done",
      tokens: null,
      cost: { nanoUsd: null },
    });
  });

  test("an answer that is cut at the output limit is no success, though pi exits with 0", async () => {
    house = await openHouse({ answer: () => ({ ...DONE, finishReason: "length" }) });
    const outcome = await runQuietly(house, toJob(house, { model: "wire/m" }));
    expect(outcome).toMatchObject({ type: "failed", cause: "no-usable-output", reason: expect.stringContaining("length"), tokens: 15 });
  });

  test("an empty answer is no success", async () => {
    house = await openHouse({ answer: () => ({ text: "", usage: { input: 10, output: 1 } }) });
    expect(await runQuietly(house, toJob(house, { model: "wire/m" }))).toMatchObject({
      type: "failed",
      cause: "no-usable-output",
      tokens: 11,
    });
  });
});

describe("what the mode owes", () => {
  const scenario = (name: string, command: string) => ({
    name,
    rules: [{ when: { turn: 1 }, then: { tools: [{ name: "bash", args: { command } }] } }, { then: { text: "all done" } }],
  });

  test("code owes a change of a file; the factory's own folder is none", async () => {
    const command = "mkdir .harnais-out && echo '{}' > .harnais-out/result.json && touch README.md";
    house = await openHouse({ scenarios: [scenario("test-idle", command), scenario("test-busy", "echo more >> README.md")] });
    const idle = await runQuietly(house, toJob(house, { model: "rehearsal/test-idle", mode: "code" }));
    expect(idle).toMatchObject({ type: "failed", cause: "no-changes", retryable: true });
    expect(await runQuietly(house, toJob(house, { model: "rehearsal/test-busy", mode: "code" }))).toMatchObject({ type: "done" });
  });

  const commit = "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty";
  test.each([
    ["a commit of the agent's own is a change", `echo more >> README.md && ${commit} -am own`, { type: "done" }],
    [
      "a repository put in the place of the worktree's is none",
      `rm .git && git init -q . && git add -A && ${commit} -m forged`,
      { type: "failed", cause: "no-changes" },
    ],
  ])("%s", async (_what, command, outcome) => {
    house = await openHouse({ scenarios: [scenario("test-git", command)] });
    expect(await runQuietly(house, toJob(house, { model: "rehearsal/test-git", mode: "code" }))).toMatchObject(outcome);
  });

  test("structured output: the value, redacted; else a failure whose repair is in the book", async () => {
    const key = `npm_${"k".repeat(36)}`;
    house = await openHouse({ answer: (n) => ({ ...DONE, text: n === 1 ? JSON.stringify({ plan: ["a"], note: key }) : "no JSON" }) });
    const output = { schema: { type: "object" } };
    const good = await runQuietly(house, toJob(house, { model: "wire/m", output }));
    expect(good).toMatchObject({ type: "done", value: { plan: ["a"], note: "[redacted:npm-token]" } });
    const bad = await runQuietly(house, toJob(house, { model: "wire/m", output }));
    expect(bad).toMatchObject({ type: "failed", cause: "no-usable-output", reason: expect.stringContaining("not JSON"), tokens: 22 });
    expect(bad.calls.map((call) => [call.kind, call.label])).toEqual([
      ["assistant", "agent"],
      ["factory", "structured-repair"],
    ]);
  });

  test("more turns than allowed end it", async () => {
    const rules = [{ then: { tools: [{ name: "ls", args: { path: "." } }] } }];
    house = await openHouse({ scenarios: [{ name: "test-loop", rules }] });
    const limits = { timeoutMs: 90_000, idleMs: 60_000, maxTurns: 3 };
    const outcome = await runQuietly(house, toJob(house, { model: "rehearsal/test-loop", limits }));
    expect(outcome).toMatchObject({ type: "failed", cause: "agent", reason: expect.stringContaining("3 turns") });
  });
});

describe("nothing can be started", () => {
  test("an unknown model, an agent CLI that is not built, an empty prompt: named, and not tried again", async () => {
    house = await openHouse();
    const model = await runQuietly(house, toJob(house, { model: "nobody/m" }));
    expect(model).toMatchObject({ type: "failed", cause: "part-missing", retryable: false, reason: expect.stringContaining("nobody") });
    expect(model.calls).toEqual([]);
    const codex = await runQuietly(house, toJob(house, { model: "wire/m", harness: "codex" }));
    expect(codex).toMatchObject({ type: "failed", cause: "part-missing", reason: expect.stringContaining("codex") });
    const empty = await runQuietly(house, toJob(house, { model: "wire/m", prompt: " \n" }));
    expect(empty).toMatchObject({ type: "failed", cause: "agent", retryable: false, reason: expect.stringContaining("prompt") });
  });

  test("a pi that is not there is a missing part, with the mend", async () => {
    house = await openHouse({ env: { HARNAIS_PI: "/nowhere/pi" } });
    const outcome = await runQuietly(house, toJob(house, { model: "wire/m" }));
    expect(outcome).toMatchObject({
      type: "failed",
      cause: "part-missing",
      retryable: false,
      reason: expect.stringContaining("HARNAIS_PI"),
    });
  });

  test("a pi of another making that dies at once: its last words are the reason", async () => {
    house = await openHouse({ env: { HARNAIS_PI: "broken-pi.mjs" } });
    writeFileSync(join(house.dataDir, "..", "broken-pi.mjs"), 'console.error("cannot find my heart"); process.exit(7);\n');
    const outcome = await runQuietly(house, toJob(house, { model: "wire/m" }));
    expect(outcome).toMatchObject({ type: "failed", cause: "agent", reason: "pi ended with exit code 7: cannot find my heart" });
  });

  test("a data folder that cannot be written: cause storage, not tried again", async () => {
    house = await openHouse({ answer: () => DONE });
    mkdirSync(house.dataDir, { recursive: true });
    // A file where a folder must be: fails for every user, root included.
    writeFileSync(join(house.dataDir, "agents"), "in the way");
    const outcome = await runQuietly(house, toJob(house, { model: "wire/m" }));
    expect(outcome).toMatchObject({ type: "failed", cause: "storage", retryable: false });
    expect(house.provider.requests).toHaveLength(0);
  });

  test("bills that cannot be written: no call goes up, cause storage", async () => {
    house = await openHouse({ answer: () => DONE });
    mkdirSync(join(house.dataDir, "traces"), { recursive: true });
    writeFileSync(join(house.dataDir, "traces", "bills"), "in the way");
    const outcome = await runQuietly(house, toJob(house, { model: "wire/m" }));
    expect(outcome).toMatchObject({ type: "failed", cause: "storage", retryable: false });
    expect(house.provider.requests).toHaveLength(0);
  });
});
