import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { HELLO, openProxyHouse, type ProxyHouse, readAll, RUN_ID, type TestScenario } from "./support/proxy-house.ts";

const BROKEN = /aborted|hang up|ECONNRESET/;

let house: ProxyHouse;

const USAGE = { input: 1000, cached: 200, output: 50 };

async function open(...scenarios: readonly TestScenario[]): Promise<void> {
  house = await openProxyHouse({ scenarios });
}

afterEach(() => house.close());

const ask = (model: string, body: object = HELLO): Promise<Response> =>
  house.post(body, { token: house.token({ provider: "rehearsal", model }) });

interface Chunk {
  readonly choices: readonly { readonly delta: Record<string, unknown>; readonly finish_reason: string | null }[];
  readonly usage?: object;
}

function toChunks(text: string): Chunk[] {
  const events = text.split("\n\n").filter((event) => event !== "");
  expect(events.at(-1)).toBe("data: [DONE]");
  return events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)) as Chunk);
}

test("a scenario streams its text, its tool calls in pieces, and its usage, billed as notional", async () => {
  const args = { path: 'a "b"\\c', said: "${said} ${HOME}" };
  await open({
    name: "tools",
    rules: [{ when: { user: "(?<said>.*)" }, then: { text: "Look: ${said}", tools: [{ name: "read", args }], usage: USAGE } }],
  });
  const said = 'say "${x}" \\ and \u0000 é🙂';
  const chunks = toChunks(
    await (
      await ask("tools", { messages: [{ role: "user", content: said }], stream: true, stream_options: { include_usage: true } })
    ).text(),
  );
  const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
  expect(deltas[0]).toEqual({ role: "assistant", content: "" });
  expect(deltas.map((delta) => (typeof delta["content"] === "string" ? delta["content"] : "")).join("")).toBe(`Look: ${said}`);
  const calls = deltas.flatMap(
    (delta) =>
      (delta["tool_calls"] ?? []) as { index: number; id?: string; type?: string; function: { name?: string; arguments: string } }[],
  );
  expect(calls[0]).toMatchObject({
    index: 0,
    id: expect.stringMatching(/^call_/) as string,
    type: "function",
    function: { name: "read", arguments: "" },
  });
  expect(calls.length).toBeGreaterThan(2);
  expect(JSON.parse(calls.map((call) => call.function.arguments).join(""))).toEqual({ path: args.path, said: `${said} \${HOME}` });
  expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason ?? null).filter((reason) => reason !== null)).toEqual(["tool_calls"]);
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 1200, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 200 } },
  });
  // 1000 x 3 + 200 x 0.3 + 50 x 15, per million
  expect(house.bills()).toMatchObject([
    { cost_usd: 0.00381, cost_status: "notional", price_version: "rehearsal", input: 1000, cache_read: 200 },
  ]);
});

test("the same rule answers whole, and JSON values keep their shape", async () => {
  await open({
    name: "json",
    price: null,
    rules: [{ when: { user: "(?<said>.*)" }, then: { json: { summary: "${said}", n: [1, null, "${said}"] } } }],
  });
  const body = (await (await ask("json", { messages: [{ role: "user", content: [{ type: "text", text: 'a"\n' }] }] })).json()) as {
    choices: { message: { content: string } }[];
  };
  expect(JSON.parse(body.choices[0]?.message.content ?? "")).toEqual({ summary: 'a"', n: [1, null, 'a"'] });
  expect(house.bills()).toMatchObject([{ cost_usd: null, cost_status: "unpriced", usage_source: "provider" }]);
});

test("rules are matched in order on system, user, tool result and turn, from the messages alone", async () => {
  await open({
    name: "ordered",
    rules: [
      { when: { system: "summar", turn: 1 }, then: { text: "summary" } },
      { when: { toolResult: "exit 1" }, then: { text: "red" } },
      { when: { toolResult: "" }, then: { text: "green" } },
      { when: { user: "^fix" }, then: { text: "fixed" } },
      { when: { turn: 2 }, then: { text: "second" } },
      { then: { text: "any" } },
    ],
  });
  const said = async (...messages: object[]): Promise<string> =>
    ((await (await ask("ordered", { messages })).json()) as { choices: [{ message: { content: string } }] }).choices[0].message.content;
  const [user, assistant] = [
    { role: "user", content: "go" },
    { role: "assistant", content: "" },
  ];
  expect(await said({ role: "system", content: "you summarise" }, user)).toBe("summary");
  expect(await said({ role: "developer", content: "you summarise" }, user, assistant, user)).toBe("second");
  expect(await said(user, assistant, { role: "tool", content: "exit 1" })).toBe("red");
  expect(await said(user, assistant, { role: "tool", content: "exit 1" }, { role: "tool", content: "exit 0" })).toBe("green");
  expect(await said(user, assistant, { role: "user", content: "fix it" })).toBe("fixed");
  expect(await said()).toBe("any");
});

test("a request that no rule matches is a 500 naming the file and the request, and is counted", async () => {
  await open({ name: "strict", rules: [{ when: { user: "^exactly$" }, then: { text: "ok" } }] });
  const response = await ask("strict");
  expect(response.status).toBe(500);
  expect(((await response.json()) as { error: { message: string } }).error.message).toMatch(
    /strict\.yaml: no rule matches turn 1, user "hello"/,
  );
  await ask("strict", { messages: [{ role: "user", content: "exactly" }] });
  expect(house.proxy.rehearsal.count()).toBe(2);
  const lines = readFileSync(join(house.dataDir, "logs", "rehearsal.jsonl"), "utf8")
    .trim()
    .split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { n: 1, model: "strict", turn: 1, rule: null },
    { n: 2, model: "strict", turn: 1, rule: 1 },
  ]);
});

test("faults: a status, a cut, a stall, no usage", async () => {
  const rule = (user: string, fault: object, text = "one two three four"): object => ({ when: { user }, then: { text, fault } });
  await open({
    name: "faults",
    rules: [
      rule("status", { status: 401 }, "bad key"),
      rule("cut", { cutAfterChunks: 2 }),
      rule("stall", { stall: true }),
      rule("mute", { stall: 0 }),
      rule("usage", { noUsage: true }),
    ],
  });
  const token = house.token({ provider: "rehearsal", model: "faults" });
  const stream = (content: string): object => ({
    messages: [{ role: "user", content }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const refused = await house.post(stream("status"), { token });
  expect([refused.status, await refused.json()]).toEqual([401, { error: { message: "bad key", type: "rehearsal", code: 401 } }]);
  await expect(readAll(await house.open(stream("cut"), token).response)).rejects.toThrow(BROKEN);
  const stalled = house.open(stream("stall"), token);
  const message = await stalled.response;
  let seen = "";
  message.on("data", (chunk: Buffer) => (seen += String(chunk)));
  message.on("error", () => undefined);
  await expect.poll(() => seen.split("\n\n").length - 1).toBe(2);
  stalled.request.destroy();
  const mute = house.open(stream("mute"), token);
  await expect.poll(() => house.proxy.rehearsal.count()).toBe(4);
  mute.request.destroy();
  expect(await (await house.post(stream("usage"), { token })).text()).not.toContain('"usage"');
  await house.proxy.settleRun(RUN_ID);
  const bySeq = house.bills().toSorted((a, b) => a.seq - b.seq);
  expect(bySeq.map((bill) => [bill.outcome, bill.cost_status])).toEqual([
    ["upstream-error", "free"],
    ["upstream-cut", "notional"],
    ["client-abort", "notional"],
    ["client-abort", "notional"],
    ["done", "notional"],
  ]);
  expect(bySeq.map((bill) => bill.output)).toEqual([0, 1, 1, 0, 5]);
});

test("a project's scenarios are its runs' alone, come after the shared ones, and are read again when they change", async () => {
  await open({ name: "first", rules: [{ then: { text: "configured" } }] });
  const folder = mkdtempSync(join(tmpdir(), "harnais-rehearsal-"));
  const write = (name: string, text: string): void =>
    writeFileSync(join(folder, `${name}.yml`), `name: ${name}\nrules:\n  - then: { text: ${text} }\n`);
  write("first", "project");
  write("second", "project");
  const ofAnother = async (model: string): Promise<number> => {
    const token = house.token({ provider: "rehearsal", model, runId: "bbbbbbbb", jobId: "bbbbbbbb-01-a1" });
    return (await house.post(HELLO, { token })).status;
  };
  expect((await ask("second")).status).toBe(404);
  house.proxy.addScenarios(RUN_ID, folder);
  expect(await (await ask("first")).text()).toContain("configured");
  expect(await (await ask("second")).text()).toContain("project");
  write("second", "changed-text");
  expect(await (await ask("second")).text()).toContain("changed-text");
  expect([await ofAnother("first"), await ofAnother("second")]).toEqual([200, 404]);
  const { find } = house.proxy.catalog;
  expect(await find("rehearsal/second", { runId: RUN_ID })).toMatchObject({ model: "second", rehearsal: true });
  expect(await find("rehearsal/second", { folder })).toMatchObject({ model: "second", rehearsal: true });
  for (const scope of [undefined, { runId: "bbbbbbbb" }, { folder: join(folder, "nowhere") }])
    await expect(find("rehearsal/second", scope)).rejects.toMatchObject({ code: "unknown-model" });
  house.proxy.tokens.revokeRun(RUN_ID);
  expect((await ask("second")).status).toBe(404);
  rmSync(folder, { recursive: true });
});

test("a corrupt scenario names file, line and field, and hurts no other", async () => {
  await open({ name: "good", rules: [{ then: { text: "ok" } }] });
  mkdirSync(join(house.dataDir, "scenarios"), { recursive: true });
  writeFileSync(join(house.dataDir, "scenarios", "bad.yaml"), "name: bad\nrules:\n  - when: {}\n    then:\n      txet: hi\n");
  const response = await ask("bad");
  expect([response.status, await response.json()]).toMatchObject([
    424,
    { error: { code: "bad-scenario", message: expect.stringMatching(/bad\.yaml:5: rules\.0\.then: .*txet/) as string } },
  ]);
  expect((await ask("good")).status).toBe(200);
  await expect(house.proxy.catalog.find("rehearsal/bad")).rejects.toMatchObject({ code: "bad-scenario" });
  await expect(house.proxy.catalog.find("rehearsal/none")).rejects.toMatchObject({ code: "unknown-model" });
  await expect(house.proxy.catalog.find("nobody/none")).rejects.toMatchObject({ code: "unknown-provider" });
  await expect(house.proxy.catalog.find("good")).rejects.toMatchObject({ code: "unknown-model" });
  expect(await house.proxy.catalog.find("rehearsal/good")).toEqual({
    ...{
      provider: "rehearsal",
      model: "good",
      rehearsal: true,
      priceVersion: "rehearsal",
      contextWindow: 200_000,
      maxOutputTokens: 32_768,
    },
    price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 },
  });
});
