import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATIONS } from "../../src/http/openapi.ts";
import { makeSampleRepository, openFactory, type RunningFactory } from "./support/running-factory.ts";

let factory: RunningFactory;
beforeAll(async () => {
  factory = await openFactory();
});
afterAll(() => factory.close());

const JSON_HEADERS = { "content-type": "application/json" };
const post = (path: string, body: unknown): Promise<Response> =>
  factory.send(path, { method: "POST", headers: JSON_HEADERS, body: typeof body === "string" ? body : JSON.stringify(body) });
const errorOf = async (response: Response): Promise<{ code: string; message: string; field?: string }> =>
  ((await response.json()) as { error: { code: string; message: string; field?: string } }).error;

describe("the API's door", () => {
  test("answers 401 without the token, and says nothing of what is behind", async () => {
    for (const path of ["/api/runs", "/api/nothing", "/api/events"]) {
      const response = await factory.send(path, { headers: { authorization: "Bearer wrong" } });
      expect(response.status).toBe(401);
      expect((await errorOf(response)).code).toBe("unauthorized");
    }
  });

  test("health needs no token", async () => {
    const response = await factory.send("/health", { headers: { authorization: "" } });
    expect(await response.json()).toMatchObject({ ok: true, database: "embedded" });
  });

  test("the OpenAPI document names exactly the routes that there are", async () => {
    const response = await factory.send("/api/openapi.json");
    const { openapi, paths } = (await response.json()) as { openapi: string; paths: Record<string, Record<string, unknown>> };
    expect(openapi).toBe("3.1.0");
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.toSorted()).toEqual(Object.keys(OPERATIONS).toSorted());
    for (const operation of documented) {
      const [method, path] = operation.split(" ");
      const answer = await factory.send((path ?? "").replaceAll(/\{\w+\}/g, "x"), {
        method: method ?? "GET",
        signal: AbortSignal.timeout(2_000),
      });
      expect([operation, answer.status === 404 && (await errorOf(answer)).message.startsWith("no such route")]).toEqual([operation, false]);
      await answer.body?.cancel().catch(() => undefined);
    }
  });

  test.each([
    ["not JSON", "{", 400, undefined],
    ["an array", [], 400, undefined],
    ["an unknown field", { workflow: "prompt", input: "x", project: "p", modle: "y" }, 400, "modle"],
    ["a prototype name", '{"workflow":"prompt","input":"x","project":"p","__proto__":{"a":1}}', 400, "__proto__"],
    ["an empty input", { workflow: "prompt", input: "  ", project: "p" }, 400, "input"],
    ["a wrong type", { workflow: 3, input: "x", project: "p" }, 400, "workflow"],
    ["a bad model", { workflow: "prompt", input: "x", project: "p", model: "nomodel" }, 400, "model"],
    ["an unknown harness", { workflow: "prompt", input: "x", project: "p", agent: "cursor" }, 400, "agent"],
    ["no such project", { workflow: "prompt", input: "x", project: "nope" }, 404, "project"],
  ])("a run from %s is refused, naming the field", async (_what, body, status, field) => {
    const response = await post("/api/runs", body);
    const error = await errorOf(response);
    expect([response.status, error.field]).toEqual([status, field]);
    expect(error.message).not.toBe("");
  });

  test.each([
    ["/api/requests", { text: "a\0b" }, "text"],
    ["/api/requests", { text: "x", scope: "a\0b" }, "scope"],
    ["/api/requests", { text: "x", project: "/tmp/a\0b" }, "project"],
    ["/api/runs", { workflow: "prompt\0", input: "x", project: "p" }, "workflow"],
    ["/api/runs", { workflow: "prompt", input: "a\0b", project: "p" }, "input"],
    ["/api/runs", { workflow: "prompt", input: "x", project: "p", model: "rehearsal/a\0b" }, "model"],
    ["/api/runs/deadbeef/cancel", { reason: "a\0b" }, "reason"],
    ["/api/runs/deadbeef/answer", { text: "a\0b" }, "text"],
    ["/api/projects", { repo: "/tmp/a\0b" }, "repo"],
    ["/api/projects", { repo: "/tmp", validation: ["npm test", "a\0b"] }, "validation.1"],
    ["/api/projects/p/trust", { file: "a\0b" }, "file"],
    ["/api/prices", { provider: "openai", model: "a\0b", input: 1, output: 1, cacheRead: 1, cacheWrite5m: 1, cacheWrite1h: 1 }, "model"],
    ["/api/requests", { text: "a\ud800" }, "text"],
    ["/api/runs", { workflow: "prompt", input: "\udc00", project: "p" }, "input"],
  ])("what no database stores is refused at %s: %j", async (path, body, field) => {
    const response = await post(path, body);
    const error = await errorOf(response);
    expect([response.status, error.field]).toEqual([400, field]);
    expect(error.message).toMatch(/NUL|surrogate/);
  });

  test("a whole surrogate pair is a character like any other", async () => {
    expect((await post("/api/requests", { text: "\u{1F600}", project: factory.plume, intent: "noise" })).status).toBe(201);
  });

  test.each(["runs", "requests", "projects", "providers", "prices"])("a NUL in the address is a 4xx: %s", async (list) => {
    for (const path of [`/api/${list}?after=a%00b`, `/api/${list}/a%00b`, `/api/${list}/p%2Fm%00%40v`]) {
      const { status } = await factory.send(path);
      expect([path, Math.floor(status / 100)]).toEqual([path, 4]);
    }
    expect((await factory.send("/api/runs?project=%2Ftmp%2Fa%00b")).status).toBe(400);
  });

  test.each([{}, { "content-type": "text/plain" }])("a body that is not sent as JSON is told so: %j", async (headers) => {
    const send = (path: string): Promise<Response> =>
      factory.send(path, { method: "POST", body: JSON.stringify({ workflow: "prompt", input: "x", project: "p" }), headers });
    for (const path of ["/api/runs", "/api/runs/deadbeef/cancel"]) {
      const response = await send(path);
      const error = await errorOf(response);
      expect([response.status, error.field]).toEqual([400, "content-type"]);
      expect(error.message).toContain("application/json");
    }
    // Nothing to read, nothing to refuse.
    expect((await factory.send("/api/runs/deadbeef/cancel", { method: "POST" })).status).toBe(404);
  });

  test("a list of a project's runs makes no project", async () => {
    const other = makeSampleRepository(join(factory.dataDir, "..", "other"));
    const response = await factory.send(`/api/runs?project=${encodeURIComponent(other)}`);
    expect([response.status, (await errorOf(response)).field]).toEqual([404, "project"]);
    const { items } = (await (await factory.send("/api/projects")).json()) as { items: { repo: string }[] };
    expect(items.map(({ repo }) => repo)).not.toContain(other);
  });

  test("a body of 2 MiB is refused as too large", async () => {
    const response = await post("/api/requests", { text: "x".repeat(2 * 1024 * 1024) });
    expect(response.status).toBe(413);
  });

  test.each(["/api/runs/%E0%A4%A", "/api/runs/..%2f..%2fetc", "/api/runs/zzz", "/api/requests/req_x"])("%s is a 4xx", async (path) => {
    const { status } = await factory.send(path);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  });

  test("an unknown workflow is told apart from a run", async () => {
    const response = await post("/api/runs", { workflow: "nothing", input: "x", project: factory.plume });
    expect(response.status).toBe(404);
    expect((await errorOf(response)).message).toContain("unknown workflow nothing");
  });

  test("an unknown run is 404, an answer to a run that does not wait is 409", async () => {
    expect((await factory.send("/api/runs/deadbeef")).status).toBe(404);
    const runId = await factory.start({ workflow: "prompt", input: "What is this?" });
    await factory.finished(runId);
    expect((await post(`/api/runs/${runId}/answer`, { text: "yes" })).status).toBe(409);
  });
});

describe("a request through the console door", () => {
  test("becomes one run, and follows it to its end", async () => {
    const response = await post("/api/requests", { text: "Que fait ce projet ?", project: factory.plume, intent: "question" });
    expect(response.status).toBe(201);
    const { requestId } = (await response.json()) as { requestId: string };
    const request = (await (await factory.send(`/api/requests/${requestId}`)).json()) as { runId: string };
    const report = await factory.finished(request.runId);
    expect(report).toMatchObject({ status: "done", requestId, workflow: "prompt" });
    await expect
      .poll(async () => ((await (await factory.send(`/api/requests/${requestId}`)).json()) as { status: string }).status)
      .toBe("actioned");
  });

  test("takes the house's French words, and archives noise without a run", async () => {
    const noise = await post("/api/requests", { text: "spam", project: factory.plume, intent: "noise" });
    expect(await noise.json()).toMatchObject({ status: "archived" });
    const mission = await post("/api/requests", { text: "Refonte", project: factory.plume, intent: "chantier" });
    expect(await mission.json()).toMatchObject({ status: "needs_person" });
  });
});

describe("events", () => {
  test("replay from Last-Event-ID, in order, of one run", async () => {
    const runId = await factory.start({ workflow: "prompt", input: "Where is the footer?" });
    await factory.finished(runId);
    const stop = new AbortController();
    const seen: { seq: number | null; type: string }[] = [];
    for await (const frame of factory.api.events({ run: runId, after: 0 }, stop.signal)) {
      if (frame.seq !== null) seen.push({ seq: frame.seq, type: frame.type });
      if (frame.type === "run_finish") stop.abort();
    }
    expect(seen.map(({ type }) => type)).toEqual([
      "run_queued",
      "run_start",
      "phase_start",
      "phase_session",
      "attempt_start",
      "phase_attempt",
      "phase_end",
      "run_finish",
    ]);
    const third = seen[3]?.seq ?? 0;
    const response = await factory.send(`/api/events?run=${runId}`, { headers: { "last-event-id": String(third) } });
    const reader = response.body?.getReader();
    let text = "";
    while (!text.includes("run_finish")) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    expect(text).not.toContain("event: phase_session");
    expect(text).toContain("event: attempt_start");
  });
});

test("a project's own rehearsal scenarios answer its runs", async () => {
  const folder = join(factory.plume, ".harnais", "rehearsal");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "own.yaml"), JSON.stringify({ name: "own", rules: [{ when: {}, then: { text: "from the project" } }] }));
  const runId = await factory.start({ workflow: "prompt", input: "Qui es-tu ?", model: "rehearsal/own" });
  expect(await factory.finished(runId)).toMatchObject({ status: "done", text: "from the project" });
});

describe("a project's own workflows", () => {
  const write = (name: string, source: string): void => {
    mkdirSync(join(factory.plume, ".harnais", "workflows"), { recursive: true });
    writeFileSync(join(factory.plume, ".harnais", "workflows", `${name}.ts`), source);
  };
  const trust = async (name: string): Promise<number> => (await post("/api/projects/plume/trust", { file: `${name}.ts` })).status;
  const startRun = (workflow: string): Promise<Response> => post("/api/runs", { workflow, input: "go", project: factory.plume });

  test("run only once trusted, and again only while unchanged", async () => {
    write("hello", `export default async (run) => run.code("greet", async () => ({ said: run.input }));`);
    const refused = await startRun("hello");
    expect(refused.status).toBe(403);
    expect((await errorOf(refused)).message).toContain("harnais projects trust plume .harnais/workflows/hello.ts");
    expect(await trust("hello")).toBe(200);
    const started = (await (await startRun("hello")).json()) as { runId: string };
    const report = await factory.finished(started.runId);
    expect(report.phases.map(({ name, status }) => [name, status])).toEqual([
      ["worktree", "done"],
      ["greet", "done"],
    ]);
    write("hello", `export default async (run) => run.code("greet", async () => ({ said: "changed" }));`);
    expect((await startRun("hello")).status).toBe(403);
  });

  test.each([
    ["empty", "export default [];", "an empty workflow is not a workflow"],
    ["kinds", `export default [{ name: "a", kind: "magic", action() {} }];`, "unknown kind"],
    ["retried", `export default [{ name: "a", kind: "code", retries: 2, action() {} }];`, "never retried"],
    ["nothing", "export const x = 1;", "the default export must be"],
    ["broken", "export default (", "cannot be imported"],
  ])("%s is refused before anything starts", async (name, source, message) => {
    write(name, source);
    expect(await trust(name)).toBe(200);
    const response = await startRun(name);
    expect(response.status).toBe(422);
    expect((await errorOf(response)).message).toContain(message);
  });

  test("a bug fails its phase with its place; a failure keeps its reason; in list form too", async () => {
    write("buggy", `export default [{ name: "boom", kind: "code", action() { return undefinedThing.x; } }];`);
    write("failing", `export default async (run) => { await run.code("check", async () => run.fail("not today")); };`);
    await trust("buggy");
    await trust("failing");
    const bug = await factory.finished(((await (await startRun("buggy")).json()) as { runId: string }).runId);
    expect(bug).toMatchObject({ status: "failed", cause: "workflow" });
    expect(bug.reason).toContain("bug in phase boom: undefinedThing is not defined");
    const failed = await factory.finished(((await (await startRun("failing")).json()) as { runId: string }).runId);
    expect(failed).toMatchObject({ status: "failed", reason: "not today" });
  });

  test("two phases at once are refused: phases are sequential", async () => {
    write("twice", `export default async (run) => { await Promise.all([run.code("a", async () => 1), run.code("b", async () => 2)]); };`);
    await trust("twice");
    const report = await factory.finished(((await (await startRun("twice")).json()) as { runId: string }).runId);
    expect(report.status).toBe("failed");
    expect(report.reason).toContain("sequential");
  });
});
