import { BillSchema } from "@harnais/contracts/bill.ts";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { HELLO, HELLO_STREAM, JOB_ID, KEY, openProxyHouse, type ProxyHouse, readAll, RUN_ID } from "./support/proxy-house.ts";
import {
  DONE,
  type ScriptedUpstream,
  startScriptedUpstream,
  startStream,
  STREAM,
  textEvent,
  USAGE,
  usageEvent,
} from "./support/scripted-upstream.ts";

let upstream: ScriptedUpstream;
let house: ProxyHouse;

async function open(answer: Parameters<typeof startScriptedUpstream>[0]): Promise<void> {
  upstream = await startScriptedUpstream(answer);
  house = await openProxyHouse({ upstream: upstream.baseUrl });
}

afterEach(async () => {
  await house.close();
  await upstream.stop();
});

test("a stream arrives byte for byte, and its bill is on disk before its end", async () => {
  await open(({ response }) => {
    startStream(response);
    for (const piece of STREAM) response.write(piece);
    response.end();
  });
  const response = await house.post(HELLO_STREAM, { path: "/v1/phase/agent/chat/completions" });
  expect(await response.text()).toBe(STREAM.join(""));
  expect(response.headers.get("x-request-id")).toBe(`${JOB_ID}-c1`);
  const [bill] = house.bills();
  expect(BillSchema.parse(bill)).toEqual(bill);
  // (1200 - 400) x 3 + 400 x 0.3 + 50 x 15, per million
  expect(bill).toMatchObject({
    ...{
      id: `${JOB_ID}-c1`,
      run_id: RUN_ID,
      phase_id: "a1b2c3d4-01",
      label: "agent",
      attempt: 1,
      session_id: "session-1",
      seq: 1,
      turn: 1,
    },
    ...{
      provider: "wire",
      model_asked: "m",
      model_answered: "m-2",
      stream: true,
      http_status: 200,
      outcome: "done",
      finish_reason: "stop",
    },
    ...{ input: 800, cache_read: 400, cache_write_5m: 0, output: 50, reasoning: 20, usage_source: "provider" },
    ...{ cost_usd: 0.00327, cost_status: "priced", price_version: "v1", response_id: "chatcmpl-1" },
    ...{ message_count: 1, tool_count: 0, response_bytes: Buffer.byteLength(STREAM.join("")) },
  });
});

test("a client that did not ask for usage sees every chunk but the one we asked for, and the call is billed by it", async () => {
  await open(({ response }) => {
    startStream(response);
    const bytes = Buffer.from(STREAM.join(""));
    // Cut inside characters, lines and events.
    for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
    response.end();
  });
  const response = await house.post({ ...HELLO, stream: true });
  expect(await response.text()).toBe(STREAM.filter((piece) => piece !== usageEvent(USAGE)).join(""));
  expect((await upstream.nth(1)).body["stream_options"]).toEqual({ include_usage: true });
  expect(house.bills()[0]).toMatchObject({ input: 800, output: 50, usage_source: "provider" });
});

test("a chunk reaches the client while the provider still thinks about the next", async () => {
  await open(({ response }) => {
    startStream(response);
    response.write(textEvent("first"));
  });
  const message = await house.open(HELLO_STREAM).response;
  const [first] = (await once(message, "data")) as [Buffer];
  expect(String(first)).toBe(textEvent("first"));
  const { response } = await upstream.nth(1);
  response.end(DONE);
  expect(String(await readAll(message))).toBe(DONE);
});

test("headers reach the client before the first chunk", async () => {
  await open(({ response }) => {
    startStream(response);
    response.flushHeaders();
  });
  const message = await house.open(HELLO_STREAM).response;
  expect(message.statusCode).toBe(200);
  (await upstream.nth(1)).response.end(STREAM.join(""));
  await readAll(message);
});

test("a client that does not read holds the provider back", async () => {
  const PIECE = Buffer.alloc(64 * 1024, "x");
  const PIECES = 2048;
  let written = 0;
  await open(({ response }) => {
    startStream(response);
    const writeMore = (): void => {
      while (written < PIECES) {
        written++;
        if (!response.write(PIECE)) return void response.once("drain", writeMore);
      }
      response.end(DONE);
    };
    writeMore();
  });
  const message = await house.open(HELLO_STREAM).response;
  let seen = -1;
  // Held back: no further piece is taken between two looks, long before the last.
  await expect.poll(() => seen === (seen = written), { interval: 300, timeout: 20_000 }).toBe(true);
  expect(written).toBeLessThan(PIECES / 2);
  expect((await readAll(message)).length).toBe(PIECES * PIECE.length + DONE.length);
});

test("a JSON answer arrives byte for byte with its length", async () => {
  const answer = `{ "id":"r-1",  "model":"m-2","choices":[{"message":{"content":"é"},"finish_reason":"length"}], "usage": ${JSON.stringify(USAGE)} }\n`;
  await open(({ response }) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
    response.end(answer);
  });
  const response = await house.post(HELLO);
  expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(answer)));
  expect(await response.text()).toBe(answer);
  expect(house.bills()[0]).toMatchObject({
    outcome: "done",
    stream: false,
    finish_reason: "length",
    response_id: "r-1",
    cost_usd: 0.00327,
  });
  expect((await upstream.nth(1)).body).not.toHaveProperty("stream_options");
});

test("the model is the token's, the key is the provider's, and nothing of the agent's credentials goes up", async () => {
  await open(({ response }) => response.setHeader("x-request-id", "up-1").end("{}"));
  const token = house.token();
  const headers = { "x-api-key": token, cookie: "a=b", "x-title": "kept", "x-forwarded-for": "10.0.0.1", "accept-encoding": "gzip" };
  const response = await house.post('{"model":"cheap","model":"dear","messages":[],"seed":7}', { token, headers });
  const { request, raw } = await upstream.nth(1);
  expect(JSON.parse(String(raw))).toEqual({ model: "m", messages: [], seed: 7 });
  expect(String(raw)).not.toMatch(/cheap|dear/);
  expect(request.headers).toMatchObject({ authorization: `Bearer ${KEY}`, "x-title": "kept", "accept-encoding": "identity" });
  expect(JSON.stringify(request.headers)).not.toContain(token);
  expect(Object.keys(request.headers)).not.toEqual(expect.arrayContaining(["cookie"]));
  expect(request.headers["x-forwarded-for"]).toBeUndefined();
  expect(response.headers.get("x-upstream-request-id")).toBe("up-1");
});

test("the three prefixes bill to the label of the path; one that the token does not declare is unattributed", async () => {
  await open(({ response }) => response.end("{}"));
  const token = house.token({ labels: ["agent", "validation-repair"] });
  const paths = [
    ["/v1/chat/completions", ""],
    ["/v1/phase/agent/chat/completions", "agent"],
    ["/phase/validation-repair/v1/chat/completions", "validation-repair"],
    ["/v1/phase/%20AGENT%20/chat/completions?a=b", "agent"],
    ["/v1/phase/other/chat/completions", ""],
    ["/v1/phase/%E0%A4%A/chat/completions", ""],
    ["/v1/phase/__proto__/chat/completions", ""],
    ["/v1/phase//chat/completions", ""],
  ] as const;
  for (const [path] of paths) expect((await house.post(HELLO, { path, token })).status).toBe(200);
  expect(house.bills().map((bill) => bill.label)).toEqual(paths.map(([, label]) => label));
  expect(house.bills().map((bill) => bill.seq)).toEqual(paths.map((_, index) => index + 1));
});

test("a hundred streams at once are each billed once", async () => {
  await open(({ response, body }) => {
    startStream(response);
    for (const piece of STREAM) response.write(piece);
    response.end(`: ${JSON.stringify(body["n"])}\n\n`);
  });
  const token = house.token();
  const texts = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => (await house.post({ ...HELLO_STREAM, n }, { token })).text()),
  );
  expect(texts.map((text, n) => text.endsWith(`: ${n}\n\n`)).every(Boolean)).toBe(true);
  const numbers = (bills: readonly { readonly seq?: unknown }[]): unknown[] => bills.map((bill) => Number(bill.seq)).sort((a, b) => a - b);
  expect(numbers(house.bills())).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  expect(numbers(house.openings())).toEqual(numbers(house.bills()));
});
