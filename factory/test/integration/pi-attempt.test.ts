import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { isOnPath, TOOL_PROGRAMS } from "../../src/agents/pi-tools.ts";
import { type ExecutorHouse, openHouse, runQuietly, toJob, watchJob } from "./support/executor-house.ts";

let house: ExecutorHouse;
afterEach(() => house.close());

const usage = { input: 1000, cached: 200, output: 50 };
const DONE = { text: "done", usage: { input: 10, output: 5 } };

test("one attempt with a tool: the text, the calls and the cost are those of the scenario, in all three books", async () => {
  house = await openHouse({
    scenarios: [
      {
        name: "test-reader",
        rules: [
          { when: { turn: 1 }, then: { text: "Let me look.", tools: [{ name: "read", args: { path: "README.md" } }], usage } },
          { when: { toolResult: "Sample" }, then: { text: "It is a sample.", usage } },
        ],
      },
    ],
  });
  const observer = watchJob();
  const job = toJob(house, { model: "rehearsal/test-reader" });
  const outcome = await house.runJob(job, observer, new AbortController().signal);

  // By hand: 1000 × $3 + 200 × $0.3 + 50 × $15 per million = $0.00381 a call.
  expect(outcome).toMatchObject({ type: "done", text: "It is a sample.", tokens: 2500, cost: { nanoUsd: 7_620_000, complete: true } });
  expect(outcome.calls).toMatchObject([
    { kind: "assistant", label: "agent", tokens: 1250, cost_usd: 0.00381, stop_reason: "toolUse" },
    { kind: "assistant", label: "agent", tokens: 1250, cost_usd: 0.00381, stop_reason: "stop" },
  ]);
  expect(observer.pids).toHaveLength(1);
  expect(observer.progress.at(-1)).toMatchObject({ lastTool: "read", turns: 2, tools: 1, tokens: 2500 });
  const bills = house.bills();
  expect(bills).toMatchObject([{ cost_usd: 0.00381 }, { cost_usd: 0.00381 }]);
  expect(bills.map((bill) => bill["label"])).toEqual(["agent", "agent"]);
  const assistants = house.trace(job.sessionId).filter((line) => line.type === "assistant");
  expect(assistants.map((line) => [line.name, line.payload["cost_usd"], line.payload["response_id"]])).toEqual(
    outcome.calls.map((call) => ["rehearsal/test-reader", 0.00381, call.response_id]),
  );
});

test("explore offers only tools that read; code offers those that write too, less what is denied", async () => {
  house = await openHouse({ answer: () => DONE });
  await runQuietly(house, toJob(house, { model: "wire/m" }));
  await runQuietly(house, toJob(house, { model: "wire/m", mode: "code", tools: { deny: ["bash"] } }));
  const offered = house.provider.requests.map(({ body }) =>
    (body.tools ?? []).map((tool) => (tool as { function: { name: string } }).function.name).toSorted(),
  );
  // pi's grep and find need programs that not every machine has.
  const searching = Object.entries(TOOL_PROGRAMS).flatMap(([tool, program]) =>
    isOnPath(program, process.env["PATH"] ?? "") ? [tool] : [],
  );
  expect(offered).toEqual([["ls", "read", ...searching].toSorted(), ["edit", "ls", "read", "write", ...searching].toSorted()]);
});

test("a correction goes on in the same session: the model sees the first prompt again, the journal two processes", async () => {
  house = await openHouse({ answer: (n) => ({ text: `answer ${n}`, usage: { input: 10, output: 5 } }) });
  const first = toJob(house, { model: "wire/m", prompt: "the first prompt" });
  const observer = watchJob();
  await house.runJob(first, observer, new AbortController().signal);
  const second = { ...first, jobId: first.jobId.replace(/1$/, "2"), attempt: 2, resume: true, prompt: "the correction" };
  const outcome = await house.runJob(second, observer, new AbortController().signal);

  expect(outcome).toMatchObject({ type: "done", text: "answer 2" });
  expect(outcome.calls).toHaveLength(1);
  expect(house.userTexts(1)).toEqual(["the first prompt", "the correction"]);
  expect(readdirSync(join(house.dataDir, "agents", first.runId, "pi", "sessions"))).toHaveLength(1);
  const starts = house.trace(first.sessionId).filter((line) => line.type === "session_start");
  expect(starts.map((line) => [line.payload["attempt"], line.payload["pid"]])).toEqual(observer.pids.map((pid, index) => [index + 1, pid]));
  expect(new Set(observer.pids).size).toBe(2);
});

test("a session that was lost before it began is told the first prompt and the correction", async () => {
  house = await openHouse({ answer: () => DONE });
  const job = toJob(house, { model: "wire/m", prompt: "the correction", firstPrompt: "the first prompt", resume: true, attempt: 2 });
  expect(await runQuietly(house, job)).toMatchObject({ type: "done" });
  expect(house.userTexts(0)).toEqual(["the first prompt\n\nthe correction"]);
});

test("a model without a price costs null, never 0: in the stream, in the journal, in the bill", async () => {
  house = await openHouse({ answer: () => DONE });
  const job = toJob(house, { model: "wire/m" });
  expect(await runQuietly(house, job)).toMatchObject({ type: "done", tokens: 15, cost: { nanoUsd: null, complete: false } });
  expect(house.trace(job.sessionId).find((line) => line.type === "assistant")?.payload["cost_usd"]).toBeNull();
  expect(house.bills()).toMatchObject([{ cost_usd: null, cost_status: "unpriced" }]);
});

test("a model that costs nothing costs a known 0", async () => {
  const free = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
  house = await openHouse({ scenarios: [{ name: "test-free", price: free, rules: [{ then: { text: "done", usage } }] }] });
  const job = toJob(house, { model: "rehearsal/test-free" });
  expect(await runQuietly(house, job)).toMatchObject({ type: "done", tokens: 1250, cost: { nanoUsd: 0, complete: true } });
  expect(house.trace(job.sessionId).find((line) => line.type === "assistant")?.payload["cost_usd"]).toBe(0);
});

test("what compaction spends is a call of the attempt", async () => {
  house = await openHouse({
    scenarios: [
      {
        name: "test-squeeze",
        rules: [
          { when: { system: "context summarization assistant" }, then: { text: "A summary.", usage: { input: 3000, output: 100 } } },
          { when: { toolResult: "Sample" }, then: { text: "Done after all.", usage: { input: 190_000, output: 50 } } },
          // More than the 20 000 tokens that pi keeps as they are.
          { when: { turn: 1 }, then: { tools: [1, 2, 3, 4].map(() => ({ name: "read", args: { path: "big.txt" } })) } },
          { when: { turn: 2 }, then: { tools: [{ name: "read", args: { path: "README.md" } }], usage: { input: 150_000, output: 50 } } },
        ],
      },
    ],
  });
  writeFileSync(join(house.checkout, "big.txt"), "some words on a line\n".repeat(2000));
  const job = toJob(house, { model: "rehearsal/test-squeeze" });
  const outcome = await runQuietly(house, job);
  expect(outcome).toMatchObject({ type: "done", text: "Done after all." });
  // By hand: 3000 × $3 + 100 × $15 per million.
  expect(outcome.calls.filter((call) => call.kind === "compaction")).toMatchObject([{ tokens: 3100, cost_usd: 0.0105 }]);
  const bills = house.bills();
  expect(outcome.calls).toHaveLength(bills.length);
  expect(outcome.cost.nanoUsd).toBe(bills.reduce((sum, bill) => sum + Math.round(Number(bill["cost_usd"]) * 1e9), 0));
  const traced = house.trace(job.sessionId).filter((line) => line.type === "compaction");
  expect(traced).toMatchObject([{ payload: { total_tokens: 3100, cost_usd: 0.0105 } }]);
});

test("the agent's environment holds its own folders and marks, not our secrets; its log is redacted", async () => {
  const secret = `hidden-${randomBytes(8).toString("hex")}`;
  const control = `control-${randomBytes(8).toString("hex")}`;
  house = await openHouse({
    knownSecrets: [secret],
    env: { OPENAI_API_KEY: control, HARNAIS_TOKEN: control },
    scenarios: [
      {
        name: "test-env",
        rules: [
          { when: { turn: 1 }, then: { tools: [{ name: "bash", args: { command: `env; echo ${secret}; echo x > new.txt` } }] } },
          { then: { text: `I saw ${secret}.` } },
        ],
      },
    ],
  });
  const job = toJob(house, { model: "rehearsal/test-env", mode: "code" });
  expect(await runQuietly(house, job)).toMatchObject({ type: "done", text: "I saw [redacted:secret]." });
  const home = join(house.dataDir, "agents", job.runId, "pi");
  const [file] = readdirSync(join(home, "sessions"));
  const env = readFileSync(join(home, "sessions", file ?? ""), "utf8");
  for (const name of ["RUN_ID", "PHASE_ID", "ATTEMPT", "SESSION_ID", "TRACE_DIR", "RESULT"]) expect(env).toContain(`HARNAIS_${name}=`);
  expect(env).toContain(`HOME=${home}`);
  expect(env).not.toContain(control);
  const log = readFileSync(join(house.dataDir, "logs", `${job.jobId}.log`), "utf8");
  expect(log).toContain("[redacted:secret]");
  expect(log).not.toContain(secret);
  expect(existsSync(join(home, "prompts", `${job.jobId}.txt`))).toBe(false);
});
