import { Hono } from "hono";
import { pino } from "pino";
import { expect } from "vitest";
import { toErrorResponse } from "../../src/http/error-response.ts";
import { createModelRows, ensureDefaultProviders } from "../../src/llm-proxy/model-rows.ts";
import { priceRoutes } from "../../src/llm-proxy/price.routes.ts";
import { providerRoutes } from "../../src/llm-proxy/provider.routes.ts";
import type { Db } from "../../src/db/tables.ts";
import { describeOnBases } from "./support/database.ts";

const PROVIDER = { name: "local", dialect: "chat-completions", baseUrl: "http://127.0.0.1:9/v1", keyEnv: "LOCAL_KEY" };
const PRICE = {
  provider: "local",
  model: "org/m:free",
  version: "1",
  input: 3,
  output: 15,
  cacheRead: 0.3,
  cacheWrite5m: 3.75,
  cacheWrite1h: 6,
};

interface Answer {
  readonly status: number;
  readonly body: {
    readonly error?: { readonly code: string; readonly message: string; readonly field?: string };
    readonly [key: string]: unknown;
  };
}

function createClient(db: Db): (method: string, path: string, body?: unknown) => Promise<Answer> {
  const app = new Hono();
  app.onError((error, c) => toErrorResponse(error, c, pino({ level: "silent" })));
  app.route("/", providerRoutes({ db, secret: (name) => (name === "LOCAL_KEY" ? "the-secret-value" : undefined) }));
  app.route("/", priceRoutes(db));
  return async (method, path, body) => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await app.request(path, init);
    const text = await response.text();
    expect(text).not.toContain("the-secret-value");
    return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Answer["body"]) };
  };
}

describeOnBases("providers and prices", (test) => {
  test("the ready-made providers are added once and stay as they were changed", async ({ db }) => {
    await ensureDefaultProviders(db);
    const call = createClient(db);
    await call("PATCH", "/providers/ollama", { enabled: true });
    await ensureDefaultProviders(db);
    const { body } = await call("GET", "/providers");
    expect((body["items"] as { name: string; enabled: boolean }[]).map(({ name, enabled }) => [name, enabled])).toEqual([
      ["anthropic", false],
      ["ollama", true],
      ["openai", true],
      ["openrouter", true],
      ["rehearsal", true],
    ]);
  });

  test("an address that is no plain URL is refused, not an error of ours", async ({ db }) => {
    const call = createClient(db);
    for (const baseUrl of ["http://[::1]:99999/", "http://x y/", "http://user:pw@host/", "ftp://host/"]) {
      const body = { error: { code: "bad-input", field: "baseUrl" } };
      expect(await call("POST", "/providers", { ...PROVIDER, name: "odd", baseUrl })).toMatchObject({ status: 400, body });
    }
  });

  test("a provider is added, shown, changed and removed; of its key only the name is known", async ({ db }) => {
    const call = createClient(db);
    expect(await call("POST", "/providers", PROVIDER)).toEqual({ status: 201, body: { ...PROVIDER, enabled: true, keySet: true } });
    expect(await call("POST", "/providers", PROVIDER)).toMatchObject({ status: 409, body: { error: { code: "conflict", field: "name" } } });
    expect(await call("PATCH", "/providers/local", { keyEnv: null })).toMatchObject({
      status: 200,
      body: { keyEnv: null, keySet: null, enabled: true },
    });
    expect(await createModelRows(db).findProvider("local")).toEqual({ ...PROVIDER, keyEnv: null, enabled: true });
    expect((await call("DELETE", "/providers/local")).status).toBe(204);
    for (const method of ["GET", "DELETE"]) expect(await call(method, "/providers/local")).toMatchObject({ status: 404 });
    expect(await call("PATCH", "/providers/local", { enabled: true })).toMatchObject({ status: 404 });
  });

  test("a provider's bad fields are named", async ({ db }) => {
    const call = createClient(db);
    const refused = async (change: object): Promise<unknown> => {
      const { status, body } = await call("POST", "/providers", { ...PROVIDER, ...change });
      return [status, body.error?.field];
    };
    expect(await refused({ name: "../x" })).toEqual([400, "name"]);
    expect(await refused({ baseUrl: "ftp://x" })).toEqual([400, "baseUrl"]);
    expect(await refused({ baseUrl: "https://user:pass@example.com/v1" })).toEqual([400, "baseUrl"]);
    expect(await refused({ baseUrl: "https://example.com/v1?key=1" })).toEqual([400, "baseUrl"]);
    expect(await refused({ keyEnv: "sk-0123456789" })).toEqual([400, "keyEnv"]);
    expect(await refused({ dialect: "morse" })).toEqual([400, "dialect"]);
    expect(await refused({ apiKey: "x" })).toEqual([400, "apiKey"]);
    expect(await call("PATCH", "/providers/openai", {})).toMatchObject({ status: 400 });
    expect(await call("PATCH", "/providers/openai", { name: "x" })).toMatchObject({ status: 400, body: { error: { field: "name" } } });
  });

  test("the rehearsal model can be switched off, not moved or removed", async ({ db }) => {
    await ensureDefaultProviders(db);
    const call = createClient(db);
    expect(await call("PATCH", "/providers/rehearsal", { baseUrl: "http://example.com" })).toMatchObject({ status: 409 });
    expect(await call("DELETE", "/providers/rehearsal")).toMatchObject({ status: 409 });
    expect(await call("PATCH", "/providers/rehearsal", { enabled: false })).toMatchObject({ status: 200 });
    expect(await call("PATCH", "/providers/rehearsal", { enabled: true })).toMatchObject({ status: 200 });
  });

  test("prices never change; the latest whose day has come holds", async ({ db }) => {
    const call = createClient(db);
    await call("POST", "/providers", PROVIDER);
    const add = (change: object): Promise<Answer> => call("POST", "/prices", { ...PRICE, ...change });
    expect(await add({ validFrom: "2026-01-01T00:00:00Z" })).toEqual({
      status: 201,
      body: { id: "local/org/m:free@1", ...PRICE, validFrom: "2026-01-01T00:00:00.000Z" },
    });
    await add({ version: "2", validFrom: "2026-02-01T00:00:00Z", input: 4 });
    await add({ version: "3", validFrom: "2999-01-01T00:00:00Z", input: 5 });
    const rows = createModelRows(db);
    expect(await rows.findPrice("local", "org/m:free")).toMatchObject({
      version: "2",
      input: 4,
      cacheWrite5m: 3.75,
      cacheWrite1h: 6,
      cacheRead: 0.3,
    });
    expect(await rows.findPrice("local", "other")).toBeUndefined();
    expect(await add({ input: 9 })).toMatchObject({ status: 409, body: { error: { field: "version" } } });
    const path = `/prices/${encodeURIComponent("local/org/m:free@1")}`;
    expect(await call("GET", path)).toMatchObject({ status: 200, body: { version: "1", input: 3 } });
    for (const method of ["PATCH", "DELETE"])
      expect(await call(method, path, { input: 1 })).toMatchObject({
        status: 409,
        body: { error: { message: expect.stringContaining("harnais prices add") as string } },
      });
    expect(await call("GET", `/prices/${encodeURIComponent("local/m@9")}`)).toMatchObject({ status: 404 });
    expect(await call("GET", "/prices/nonsense")).toMatchObject({ status: 400 });
  });

  test("a class of tokens without a price is refused by its name: no price is invented", async ({ db }) => {
    const call = createClient(db);
    await call("POST", "/providers", PROVIDER);
    for (const field of ["input", "output", "cacheRead", "cacheWrite5m", "cacheWrite1h"]) {
      const { [field]: _left, ...rest } = { ...PRICE, model: "plain" } as Record<string, unknown>;
      expect(await call("POST", "/prices", rest)).toMatchObject({ status: 400, body: { error: { code: "bad-input", field } } });
    }
  });

  test("the answer is the row as it is stored; its version is its day where none is given", async ({ db }) => {
    const call = createClient(db);
    await call("POST", "/providers", PROVIDER);
    const { version: _version, ...unnamed } = { ...PRICE, model: "small", input: 0.000001, cacheRead: 0 };
    const added = await call("POST", "/prices", unnamed);
    expect(added).toMatchObject({ status: 201, body: { input: 0.000001, cacheRead: 0, version: new Date().toISOString().slice(0, 10) } });
    expect((await call("GET", `/prices/${encodeURIComponent(String(added.body["id"]))}`)).body).toEqual(added.body);
  });

  test("a price's bad fields are named", async ({ db }) => {
    const call = createClient(db);
    const refused = async (change: object): Promise<unknown> => {
      const { status, body } = await call("POST", "/prices", { ...PRICE, ...change });
      return [status, body.error?.field];
    };
    expect(await refused({ input: -1 })).toEqual([400, "input"]);
    expect(await refused({ cacheRead: 0.0000001 })).toEqual([400, "cacheRead"]);
    expect(await refused({ output: "15" })).toEqual([400, "output"]);
    expect(await refused({ validFrom: "yesterday" })).toEqual([400, "validFrom"]);
    expect(await refused({ version: "a@b" })).toEqual([400, "version"]);
    expect(await refused({ provider: "rehearsal" })).toEqual([400, "provider"]);
    expect(await refused({ provider: "nobody" })).toEqual([404, "provider"]);
    expect(await refused({ currency: "EUR" })).toEqual([400, "currency"]);
  });

  test("lists come in pages", async ({ db }) => {
    const call = createClient(db);
    await call("POST", "/providers", PROVIDER);
    for (const version of ["p1", "p2", "p3"]) await call("POST", "/prices", { ...PRICE, model: "paged", version });
    const seen: unknown[] = [];
    let next: string | null = "";
    for (let page = 0; next !== null && page < 50; page++) {
      const { status, body } = await call("GET", `/prices?limit=2${next === "" ? "" : `&after=${encodeURIComponent(next)}`}`);
      expect(status).toBe(200);
      seen.push(...(body["items"] as { id: string }[]).map(({ id }) => id));
      next = body["next"] as string | null;
    }
    expect(seen.filter((id) => String(id).startsWith("local/paged@"))).toEqual(["local/paged@p1", "local/paged@p2", "local/paged@p3"]);
    expect(new Set(seen).size).toBe(seen.length);
    expect(await call("GET", "/prices?after=nonsense")).toMatchObject({ status: 400, body: { error: { field: "after" } } });
    const providers = await call("GET", "/providers?limit=1");
    expect(providers.body).toMatchObject({ items: [{ name: expect.any(String) as string }], next: expect.any(String) as string });
  });
});
