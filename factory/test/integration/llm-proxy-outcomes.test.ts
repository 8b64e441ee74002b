import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HELLO, HELLO_STREAM, openProxyHouse, type ProxyHouse, readAll, RUN_ID } from "./support/proxy-house.ts";
import {
  DONE,
  event,
  type ScriptedUpstream,
  startScriptedUpstream,
  startStream,
  STREAM,
  stopEvent,
  textEvent,
} from "./support/scripted-upstream.ts";

const BROKEN = /aborted|hang up|ECONNRESET/;

type Answer = Parameters<typeof startScriptedUpstream>[0];

let answer: Answer;
let upstream: ScriptedUpstream;
let house: ProxyHouse;

beforeEach(async () => {
  upstream = await startScriptedUpstream((seen, n) => answer(seen, n));
  house = await openProxyHouse({ upstream: upstream.baseUrl });
});

afterEach(async () => {
  await house.close();
  await upstream.stop();
});

const estimatedInput = (): number => Math.ceil(Number(house.openings()[0]?.["request_bytes"]) / 4);

test("a client that leaves before the first byte closes the provider's connection and is billed", async () => {
  answer = () => undefined;
  const call = house.open(HELLO_STREAM);
  const seen = await upstream.nth(1);
  call.request.destroy();
  await seen.closed;
  await house.proxy.settleRun(RUN_ID);
  expect(house.bills()).toHaveLength(1);
  expect(house.bills()[0]).toMatchObject({
    ...{ outcome: "client-abort", http_status: null, first_byte_ms: null, finish_reason: null, response_id: null },
    ...{ input: estimatedInput(), output: 0, usage_source: "estimated", cost_status: "estimated" },
  });
});

test("a client that leaves in mid-stream closes the provider's connection and is billed for what was seen", async () => {
  answer = ({ response }) => {
    startStream(response);
    response.write(textEvent("0123456789") + textEvent("abcdefghij"));
  };
  const call = house.open(HELLO_STREAM);
  const message = await call.response;
  await once(message, "data");
  call.request.destroy();
  await (
    await upstream.nth(1)
  ).closed;
  await house.proxy.settleRun(RUN_ID);
  expect(house.bills()).toHaveLength(1);
  const input = estimatedInput();
  expect(house.bills()[0]).toMatchObject({ outcome: "client-abort", http_status: 200, input, output: 5, response_id: "chatcmpl-1" });
  expect(house.bills()[0]?.cost_usd).toBeCloseTo((input * 3 + 5 * 15) / 1e6, 9);
});

test("a provider that dies in mid-stream is a cut for the client too, never an end", async () => {
  answer = ({ response }) => {
    startStream(response);
    response.write(textEvent("01234567"), () => response.destroy());
  };
  await expect(readAll(await house.open(HELLO_STREAM).response)).rejects.toThrow(BROKEN);
  expect(house.bills()).toMatchObject([
    { outcome: "upstream-cut", http_status: 200, output: 2, usage_source: "estimated", finish_reason: null },
  ]);
});

test("a provider that dies before its headers breaks the client's connection: the call may have cost something", async () => {
  answer = ({ response }) => void response.destroy();
  await expect(house.open(HELLO).response).rejects.toThrow(BROKEN);
  expect(house.bills()).toMatchObject([
    { outcome: "upstream-cut", http_status: null, usage_source: "estimated", input: estimatedInput(), output: 0 },
  ]);
});

test("a cut that looks like an end on the wire, without chunks or length, is still a cut", async () => {
  const server = createServer((socket: Socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () =>
      socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${textEvent("half")}`),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const other = await openProxyHouse({ upstream: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  await expect(readAll(await other.open(HELLO_STREAM).response)).rejects.toThrow(BROKEN);
  expect(other.bills()).toMatchObject([{ outcome: "upstream-cut", http_status: 200 }]);
  await other.close();
  server.close();
});

test("a provider that cannot be reached is a 502 that cost nothing", async () => {
  await upstream.stop();
  const response = await house.post(HELLO);
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({
    error: { code: "llm-upstream", message: expect.stringContaining("ECONNREFUSED") as string },
  });
  expect(house.bills()).toMatchObject([
    { outcome: "upstream-error", http_status: null, input: 0, output: 0, cost_usd: 0, cost_status: "free" },
  ]);
  upstream = await startScriptedUpstream(() => undefined);
});

test("a request that cannot be written to the wire has ended: nothing waits for it, and its key is not shown", async () => {
  const broken = await openProxyHouse({ upstream: upstream.baseUrl, secrets: { WIRE_KEY: "the-key\nwith a line end" } });
  const response = await broken.post(HELLO);
  expect(response.status).toBe(502);
  expect(await response.text()).not.toContain("the-key");
  expect(broken.bills()).toMatchObject([{ outcome: "upstream-error", cost_status: "free" }]);
  const settled = broken.proxy.settleRun(RUN_ID).then(() => "settled");
  expect(await Promise.race([settled, setImmediate("waiting")])).toBe("settled");
  await broken.close();
});

test("an error of the provider passes through as it is and costs nothing", async () => {
  answer = ({ response }) => {
    response.writeHead(429, { "content-type": "application/json", "retry-after": "7" });
    response.end('{"error":{"message":"slow down"}}');
  };
  const response = await house.post(HELLO);
  expect([response.status, response.headers.get("retry-after"), await response.text()]).toEqual([
    429,
    "7",
    '{"error":{"message":"slow down"}}',
  ]);
  expect(house.bills()).toMatchObject([
    { outcome: "upstream-error", http_status: 429, cost_usd: 0, cost_status: "free", usage_source: null },
  ]);
});

test("an error inside a stream is an upstream error, estimated", async () => {
  answer = ({ response }) => {
    startStream(response);
    response.end(textEvent("0123") + event({ error: { message: "overloaded" } }) + DONE);
  };
  await (await house.post(HELLO_STREAM)).text();
  expect(house.bills()).toMatchObject([{ outcome: "upstream-error", http_status: 200, output: 1, usage_source: "estimated" }]);
});

test("an answer that is not JSON is billed as such", async () => {
  answer = ({ response }) => response.setHeader("content-type", "text/html").end("<html>welcome</html>");
  expect(await (await house.post(HELLO)).text()).toBe("<html>welcome</html>");
  expect(house.bills()).toMatchObject([{ outcome: "not-json", http_status: 200, usage_source: "estimated", input: estimatedInput() }]);
});

test("a stream that ends without usage is done and estimated", async () => {
  answer = ({ response }) => {
    startStream(response);
    response.end(textEvent("01234567") + stopEvent() + DONE);
  };
  await (await house.post(HELLO_STREAM)).text();
  expect(house.bills()).toMatchObject([
    { outcome: "done", finish_reason: "stop", output: 2, usage_source: "estimated", cost_status: "estimated" },
  ]);
});

test("hostile usage figures are not believed", async () => {
  answer = ({ response }, n) => {
    const usage = [
      { prompt_tokens: -1, completion_tokens: 1 },
      { prompt_tokens: "9", completion_tokens: 1 },
      { prompt_tokens: 1e300, completion_tokens: 1.5 },
      [],
    ][n - 1];
    response.end(JSON.stringify({ choices: [{ message: { content: "0123" } }], usage }));
  };
  const token = house.token();
  for (let n = 0; n < 4; n++) await (await house.post(HELLO, { token })).text();
  for (const bill of house.bills()) expect(bill).toMatchObject({ outcome: "done", usage_source: "estimated", output: 1 });
});

test("a model without a price costs null, never zero", async () => {
  answer = ({ response }) => {
    startStream(response);
    response.end(STREAM.join(""));
  };
  await (await house.post(HELLO_STREAM, { token: house.token({ model: "unknown" }) })).text();
  expect(house.bills()).toMatchObject([{ input: 800, cost_usd: null, cost_status: "unpriced", price_version: null }]);
});

test("a provider that keeps silent too long is a timeout", async () => {
  answer = ({ response }, n) => {
    if (n === 1) return;
    startStream(response);
    response.write(textEvent("0123"));
  };
  const impatient = await openProxyHouse({ upstream: upstream.baseUrl, limits: { firstByteMs: 50, idleMs: 50 } });
  const token = impatient.token();
  await expect(impatient.open(HELLO_STREAM, token).response).rejects.toThrow(BROKEN);
  await expect(readAll(await impatient.open(HELLO_STREAM, token).response)).rejects.toThrow(BROKEN);
  expect(impatient.bills()).toMatchObject([
    { outcome: "timeout", http_status: null, usage_source: "estimated" },
    { outcome: "timeout", http_status: 200, output: 1 },
  ]);
  await impatient.close();
});

test("revoking a run's tokens ends its calls and bills them; another run's go on", async () => {
  answer = ({ response }) => {
    startStream(response);
    response.write(textEvent("0123"));
  };
  const ours = await house.open(HELLO_STREAM).response;
  const other = await house.open(HELLO_STREAM, house.token({ runId: "bbbbbbbb", jobId: "bbbbbbbb-01-a1" })).response;
  house.proxy.tokens.revokeRun(RUN_ID);
  await expect(readAll(ours)).rejects.toThrow(BROKEN);
  expect(house.bills()).toMatchObject([{ run_id: RUN_ID, outcome: "client-abort" }]);
  (await upstream.nth(2)).response.end(STREAM.join(""));
  expect(String(await readAll(other))).toContain("[DONE]");
});

test("settling waits for the run's calls and for no other", async () => {
  answer = ({ response }) => {
    startStream(response);
    response.flushHeaders();
  };
  await house.proxy.settleRun("cccccccc");
  const message = await house.open(HELLO_STREAM).response;
  let isSettled = false;
  const settled = house.proxy.settleRun(RUN_ID).then(() => (isSettled = true));
  expect(house.bills()).toHaveLength(0);
  expect(isSettled).toBe(false);
  (await upstream.nth(1)).response.end(STREAM.join(""));
  await settled;
  expect(house.bills()).toHaveLength(1);
  await readAll(message);
});

test("a stopped proxy closes the bills of the calls that were up", async () => {
  answer = () => undefined;
  house.open(HELLO_STREAM);
  const seen = await upstream.nth(1);
  await house.proxy.stop();
  await seen.closed;
  expect(house.bills()).toMatchObject([{ outcome: "proxy-killed", usage_source: "estimated" }]);
});
