import { once } from "node:events";
import { request as startRequest } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HELLO, openProxyHouse, type ProxyHouse, RUN_ID } from "./support/proxy-house.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "./support/scripted-upstream.ts";

const MIB = 1024 * 1024;

let upstream: ScriptedUpstream;
let house: ProxyHouse;

beforeEach(async () => {
  upstream = await startScriptedUpstream(({ response }) => response.end("{}"));
  house = await openProxyHouse({ upstream: upstream.baseUrl });
});

afterEach(async () => {
  await house.close();
  await upstream.stop();
});

async function refusal(response: Response): Promise<{ status: number; code: string; message: string }> {
  const body = (await response.json()) as { error: { message: string; type: string; code: string } };
  expect(Object.keys(body.error).sort()).toEqual(["code", "message", "param", "type"]);
  expect(response.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{12}$/);
  return { status: response.status, code: body.error.code, message: body.error.message };
}

test.each([
  ["none", (): string => ""],
  ["another's", (): string => "sk-0123456789abcdef0123"],
  ["a prefix alone", (): string => "hpt_"],
  ["an empty signature", (token: string): string => `${token.split(".")[0]}.`],
  ["a forged signature", (token: string): string => `${token.slice(0, -2)}${token.endsWith("AA") ? "BB" : "AA"}`],
  [
    "forged claims",
    (token: string): string =>
      token.replace(/^hpt_[^.]+/, `hpt_${Buffer.from('{"serial":1,"claims":{"runId":"x"}}').toString("base64url")}`),
  ],
])("a token that is %s is a 401", async (_, forge) => {
  const response = await house.post(HELLO, { token: forge(house.token()) });
  expect(await refusal(response)).toMatchObject({ status: 401, code: "unauthorized" });
  expect(upstream.requests).toHaveLength(0);
  expect(house.openings()).toHaveLength(0);
});

test("a token of another process is a 401", async () => {
  const other = await openProxyHouse();
  expect((await house.post(HELLO, { token: other.token() })).status).toBe(401);
  await other.close();
});

test("an expired token is a 401 that says so", async () => {
  const response = await house.post(HELLO, { token: house.token({ expiresAtMs: Date.now() - 1 }) });
  expect(await refusal(response)).toMatchObject({ status: 401, message: "the token has expired" });
});

test("a revoked run's tokens are a 401; other runs' and later ones of the run are good", async () => {
  const [old, other] = [house.token(), house.token({ runId: "bbbbbbbb" })];
  house.proxy.tokens.revokeRun(RUN_ID);
  expect(await refusal(await house.post(HELLO, { token: old }))).toMatchObject({ status: 401, message: "the token's run has ended" });
  expect((await house.post(HELLO, { token: other })).status).toBe(200);
  expect((await house.post(HELLO)).status).toBe(200);
});

test("a token is taken from x-api-key too", async () => {
  const headers = { "x-api-key": house.token(), "content-type": "application/json" };
  const response = await fetch(`${house.origin}/v1/chat/completions`, { method: "POST", headers, body: JSON.stringify(HELLO) });
  expect(response.status).toBe(200);
});

test("the token is checked before the size, the size before the JSON, the JSON before the model", async () => {
  const huge = Buffer.alloc(33 * MIB, "[");
  const unknown = house.token({ provider: "nobody" });
  expect((await house.post(huge, { token: "none" })).status).toBe(401);
  expect(await refusal(await house.post(huge, { token: unknown }))).toMatchObject({ status: 413, code: "too-large" });
  expect(await refusal(await house.post("[[", { token: unknown }))).toMatchObject({ status: 400, code: "bad-input" });
  expect(await refusal(await house.post(HELLO, { token: unknown }))).toMatchObject({ status: 404, code: "unknown-provider" });
  const scenario = house.token({ provider: "rehearsal", model: "../../etc/passwd" });
  expect(await refusal(await house.post(HELLO, { token: scenario }))).toMatchObject({ status: 404, code: "unknown-model" });
  expect(house.openings()).toHaveLength(0);
});

test("a body that is declared too large is a 413 before it comes", async () => {
  const headers = { authorization: `Bearer ${house.token()}`, "content-length": 40 * MIB };
  const request = startRequest(`${house.origin}/v1/chat/completions`, { method: "POST", headers });
  request.on("error", () => undefined);
  request.flushHeaders();
  const [message] = (await once(request, "response")) as [{ statusCode: number }];
  expect(message.statusCode).toBe(413);
  request.destroy();
});

test("a body that grows too large without a declared length is a 413, and the next request is served", async () => {
  const headers = { authorization: `Bearer ${house.token()}` };
  const request = startRequest(`${house.origin}/v1/chat/completions`, { method: "POST", headers });
  request.on("error", () => undefined);
  const response = once(request, "response");
  for (let sent = 0; sent < 33; sent++) request.write(Buffer.alloc(MIB, " "));
  const [message] = (await response) as [{ statusCode: number }];
  expect(message.statusCode).toBe(413);
  request.destroy();
  expect((await house.post(HELLO)).status).toBe(200);
});

test.each([
  ["empty", ""],
  ["not JSON", "{"],
  ["a list", "[]"],
  ["null", "null"],
  ["a number", "1"],
  ["a text", '"x"'],
  ["bytes", Buffer.from([0xff, 0xfe, 0x00])],
])("a body that is %s is a 400", async (_, body) => {
  expect(await refusal(await house.post(body))).toMatchObject({ status: 400, code: "bad-input" });
  expect(upstream.requests).toHaveLength(0);
});

test("a compressed body is a 400 that says what to do", async () => {
  const response = await house.post("{}", { headers: { "content-encoding": "gzip" } });
  expect(await refusal(response)).toMatchObject({ status: 400, message: expect.stringContaining("uncompressed") as string });
});

test("a body nested beyond reason is a 400, and the proxy lives on", async () => {
  const deep = `{"messages":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}`;
  expect(await refusal(await house.post(deep))).toMatchObject({ status: 400 });
  expect((await house.post(HELLO)).status).toBe(200);
});

test("prototype keys and wrong types are only data", async () => {
  const body =
    '{"__proto__":{"stream":true,"polluted":1},"constructor":{"prototype":{"polluted":1}},"messages":{"length":-1},"tools":"x","stream":"yes","stream_options":[1]}';
  expect((await house.post(body)).status).toBe(200);
  const sent = String((await upstream.nth(1)).raw);
  expect(JSON.parse(sent)).toEqual({ ...(JSON.parse(body) as object), model: "m" });
  expect(sent).toContain('"__proto__":{"stream":true');
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(house.bills()[0]).toMatchObject({ message_count: null, tool_count: 0, stream: false, turn: null });
});

test("a body of 31 MB goes through whole", async () => {
  const content = "x".repeat(31_000_000);
  expect((await house.post({ messages: [{ role: "user", content }] })).status).toBe(200);
  expect((await upstream.nth(1)).body["messages"]).toEqual([{ role: "user", content }]);
});

test("a missing key is an error that names the variable and is not tried again", async () => {
  const keyless = await openProxyHouse({ upstream: upstream.baseUrl, secrets: {} });
  const response = await keyless.post(HELLO);
  expect(await refusal(response)).toMatchObject({
    status: 424,
    code: "part-missing",
    message: expect.stringContaining("WIRE_KEY") as string,
  });
  expect(upstream.requests).toHaveLength(0);
  await keyless.close();
});

test("a database that is away is a 503 and is tried again; a bug is a 500 that tells nothing; both are in the log with their stack", async () => {
  const logged: string[] = [];
  const away = await openProxyHouse({ logged, findProvider: () => Promise.reject(new Error("connection terminated")) });
  expect(await refusal(await away.post(HELLO))).toMatchObject({ status: 503, code: "database-unreachable" });
  await away.close();
  const broken = await openProxyHouse({
    ...{ logged, upstream: upstream.baseUrl },
    secret: () => {
      throw new TypeError("the keys are not a list");
    },
  });
  const answer = await refusal(await broken.post(HELLO));
  expect(answer).toMatchObject({ status: 500, code: "bug" });
  expect(answer.message).not.toContain("list");
  await broken.close();
  const errors = logged.map((line) => JSON.parse(line) as { level: number; err?: { stack?: string } }).filter(({ level }) => level >= 50);
  expect(errors.map(({ err }) => err?.stack)).toEqual([
    expect.stringContaining("connection terminated"),
    expect.stringMatching(/^TypeError: the keys are not a list\n\s+at /),
  ]);
  expect(upstream.requests).toHaveLength(0);
});

test.each([
  ["GET", "/v1/chat/completions"],
  ["POST", "/v1/responses"],
  ["POST", "/v1/phase/agent/messages"],
  ["GET", "/v1/models"],
  ["GET", "/v1"],
  ["POST", "/phase/agent/v1/phase/other/chat/completions"],
  ["DELETE", "/v1/%00%ff"],
])("%s %s is a 404 that says what is served", async (method, path) => {
  const response = await fetch(`${house.origin}${path}`, { method });
  expect(await refusal(response)).toMatchObject({ status: 404, message: expect.stringContaining("POST /v1/chat/completions") as string });
});
