import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createReadStructured } from "../../src/ai/structured.ts";
import type { StructuredRequest, StructuredResult } from "../../src/ai/structured-port.ts";
import { openProxyHouse, type ProxyHouse, RUN_ID } from "./support/proxy-house.ts";
import { type ScriptedUpstream, startScriptedUpstream, type UpstreamRequest } from "./support/scripted-upstream.ts";

const SCHEMA = {
  type: "object",
  properties: { summary: { type: "string" }, steps: { type: "array", items: { type: "string" } } },
  required: ["summary"],
  additionalProperties: false,
};
const NEVER = new AbortController().signal;

let house: ProxyHouse;
let upstream: ScriptedUpstream | undefined;

afterEach(async () => {
  await house.close();
  await upstream?.stop();
  upstream = undefined;
});

async function openWire(answer: (seen: UpstreamRequest, n: number) => void): Promise<ScriptedUpstream> {
  upstream = await startScriptedUpstream(answer);
  house = await openProxyHouse({ upstream: upstream.baseUrl });
  return upstream;
}

function read(request: Partial<StructuredRequest>, signal: AbortSignal = NEVER): Promise<StructuredResult> {
  const whole = { text: "", schema: SCHEMA, runId: RUN_ID, phaseId: "a1b2c3d4-01", attempt: 1, model: "wire/m", ...request };
  return createReadStructured(house.proxy)(whole, signal);
}

function complete({ response }: UpstreamRequest, content: string): void {
  const usage = { prompt_tokens: 100, completion_tokens: 10 };
  response.end(JSON.stringify({ id: "r-1", choices: [{ message: { content }, finish_reason: "stop" }], usage }));
}

function refuse({ response }: UpstreamRequest, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, headers).end(JSON.stringify({ error: { message: `no: ${status}` } }));
}

test("a good text needs no call", async () => {
  const { requests } = await openWire(() => undefined);
  expect(await read({ text: 'Here:\n```json\n{"summary": "x"}\n```\nDone.' })).toEqual({
    ok: true,
    value: { summary: "x" },
    diagnostics: { parsedOn: "primary", repairAttempted: false, looksDoubled: false },
    calls: [],
  });
  expect(requests).toHaveLength(0);
});

test("a bad text is repaired by one call, which the proxy bills to structured-repair as the factory counts it", async () => {
  const wire = await openWire((seen) => complete(seen, '{"summary":"mended"}'));
  const result = await read({ text: 'The summary is: mended. {"summary": 1}' });
  expect(result).toMatchObject({
    ok: true,
    value: { summary: "mended" },
    diagnostics: { parsedOn: "repair", repairAttempted: true, primaryError: "/summary must be string" },
    calls: [{ kind: "factory", response_id: "r-1", label: "structured-repair", tokens: 110, cost_usd: 0.00045, stop_reason: "stop" }],
  });
  expect(house.bills()).toMatchObject([
    {
      job_id: "a1b2c3d4-f",
      label: "structured-repair",
      session_id: null,
      agent: null,
      phase_id: "a1b2c3d4-01",
      cost_usd: 0.00045,
      response_id: "r-1",
    },
  ]);
  const { body } = await wire.nth(1);
  expect(body["response_format"]).toMatchObject({ type: "json_schema", json_schema: { schema: SCHEMA } });
  expect(JSON.stringify(body["messages"])).toContain("The summary is: mended");
});

test("at most 40 000 characters of the bad text go into the repair", async () => {
  const wire = await openWire((seen) => complete(seen, '{"summary":"x"}'));
  await read({ text: `HEAD${"y".repeat(200_000)}TAIL` });
  const messages = (await wire.nth(1)).body["messages"] as { content: string }[];
  const sent = messages[1]?.content ?? "";
  expect(sent.length).toBeLessThan(41_000);
  expect(sent.match(/y/g)?.length).toBeGreaterThan(39_000);
  expect(sent).toMatch(/HEADy[^]*yTAIL$/);
});

test("a provider without response_format is asked again without it", async () => {
  const wire = await openWire((seen) => ("response_format" in seen.body ? refuse(seen, 400) : complete(seen, '{"summary":"x"}')));
  const result = await read({ text: "prose" });
  expect(result).toMatchObject({ ok: true, calls: [{ tokens: 0, cost_usd: 0, stop_reason: "error" }, { tokens: 110 }] });
  expect(wire.requests).toHaveLength(2);
  expect(house.bills().map((bill) => [bill.seq, bill.http_status])).toEqual([
    [1, 400],
    [2, 200],
  ]);
});

test("429 and 5xx are tried again at most twice, as Retry-After says, and every try is a bill", async () => {
  const wire = await openWire((seen) => refuse(seen, 503, { "retry-after": "0" }));
  const result = await read({ text: "prose" });
  expect(result).toMatchObject({ ok: false, diagnostics: { parsedOn: "none", repairAttempted: true, repairError: "HTTP 503: no: 503" } });
  expect(wire.requests).toHaveLength(3);
  expect(house.bills()).toHaveLength(3);
  expect(result.calls).toEqual(Array.from({ length: 3 }, () => expect.objectContaining({ cost_usd: 0 }) as object));
});

test("a 429 that passes is an answer in the end, with a bill for each try", async () => {
  await openWire((seen, n) => (n === 1 ? refuse(seen, 429, { "retry-after": "0" }) : complete(seen, '{"summary":"x"}')));
  expect(await read({ text: "prose" })).toMatchObject({ ok: true, calls: [{ cost_usd: 0 }, { cost_usd: 0.00045 }] });
  expect(house.bills().map((bill) => bill.http_status)).toEqual([429, 200]);
});

test("a refusal by the proxy itself is no call and is not tried again", async () => {
  const wire = await openWire(() => undefined);
  writeFileSync(join(house.dataDir, "traces"), "no bill can be written");
  const result = await read({ text: "prose" });
  expect(result).toMatchObject({
    ok: false,
    diagnostics: { repairError: expect.stringContaining("bills cannot be written") as string },
    calls: [],
  });
  expect(wire.requests).toHaveLength(0);
});

test("a Retry-After of more than a minute is not waited for, and 429 is not a refusal of the format", async () => {
  const wire = await openWire((seen) => refuse(seen, 429, { "retry-after": "3600" }));
  expect(await read({ text: "prose" })).toMatchObject({ ok: false, diagnostics: { repairError: "HTTP 429: no: 429" } });
  expect(wire.requests).toHaveLength(1);
});

test("a repair that is bad too is a result, not an exception", async () => {
  await openWire((seen) => complete(seen, "still prose"));
  expect(await read({ text: "prose" })).toMatchObject({
    ok: false,
    diagnostics: { parsedOn: "none", repairAttempted: true, repairError: "it holds no JSON", primaryError: "it holds no JSON" },
    calls: [{ tokens: 110 }],
  });
});

test("an answer cut in the middle is an unknown cost here and an estimate of the proxy", async () => {
  await openWire(({ response }) => {
    response.writeHead(200, { "content-length": 1000 });
    response.write('{"id":', () => response.destroy());
  });
  expect(await read({ text: "prose" })).toMatchObject({ ok: false, calls: [{ tokens: null, cost_usd: null, stop_reason: "error" }] });
  expect(house.bills()).toMatchObject([{ outcome: "upstream-cut", usage_source: "estimated" }]);
});

test("without repair, and for a text that is empty, no call is made", async () => {
  const { requests } = await openWire(() => undefined);
  expect(await read({ text: "prose", repair: false })).toMatchObject({ ok: false, diagnostics: { repairAttempted: false } });
  expect(await read({ text: " \n" })).toMatchObject({
    ok: false,
    diagnostics: { repairAttempted: false, repairError: "there is no text to repair" },
  });
  expect(await read({ text: "{}", schema: { type: "nonsense" } })).toMatchObject({ ok: false, diagnostics: { repairAttempted: false } });
  expect(requests).toHaveLength(0);
});

test("an absent proxy, an unknown model and an abort are repair errors", async () => {
  const wire = await openWire(() => undefined);
  expect(await read({ text: "prose", model: "nobody/m" })).toMatchObject({
    diagnostics: { repairError: expect.stringContaining('no provider "nobody"') as string },
  });
  const abort = new AbortController();
  const reading = read({ text: "prose" }, abort.signal);
  await wire.nth(1);
  abort.abort();
  expect(await reading).toMatchObject({ ok: false, diagnostics: { repairError: "cancelled" }, calls: [{ cost_usd: null }] });
  await house.proxy.settleRun(RUN_ID);
  expect(house.bills()).toMatchObject([{ outcome: "client-abort" }]);
  await house.proxy.stop();
  expect(await read({ text: "prose" })).toMatchObject({
    ok: false,
    diagnostics: { repairError: expect.stringContaining("did not answer") as string },
    calls: [],
  });
});

test("a scenario's json answers a repair", async () => {
  house = await openProxyHouse({
    scenarios: [
      { name: "plan", rules: [{ when: { system: "JSON Schema", user: "(?<what>mend \\w+)" }, then: { json: { summary: "${what}" } } }] },
    ],
  });
  const result = await read({ text: "mend this", model: "rehearsal/plan" });
  expect(result).toMatchObject({ ok: true, value: { summary: "mend this" } });
  expect(house.bills()[0]?.cost_usd).toBe(result.calls[0]?.cost_usd);
});
