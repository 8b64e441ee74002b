import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import harnaisTrace from "./harnais-trace.ts";

// The probe's handlers, called as pi 1.6 calls them. The real pi is in factory/test/integration/trace-probe.test.ts.

type Handler = (event: object, ctx: object) => void;
interface Line {
  readonly event_id: string;
  readonly session_id: string;
  readonly type: string;
  readonly name: string;
  readonly payload: Record<string, unknown>;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "harnais-probe-"));
  vi.stubEnv("HARNAIS_TRACE_DIR", folder);
  vi.stubEnv("HARNAIS_RUN_ID", "00000001");
  vi.stubEnv("HARNAIS_ATTEMPT", "2");
  // A fresh process, as far as the probe can tell.
  delete (globalThis as Record<symbol, unknown>)[Symbol.for("harnais.trace")];
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const PRICED = { provider: "p", id: "m", cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } };
const UNPRICED = { provider: "p", id: "m", cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
const usage = (input: number, output: number, total = (input * 3 + output * 15) / 1e6): object => ({
  input,
  output,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: input + output,
  cost: { total },
});
const NO_USAGE = usage(0, 0);

function load(): { emit(name: string, event?: object, ctx?: object): void; commands: Map<string, (args: string, ctx: object) => unknown> } {
  const handlers = new Map<string, Handler[]>();
  const commands = new Map<string, (args: string, ctx: object) => unknown>();
  const on = (name: string, handler: Handler): void => void handlers.set(name, [...(handlers.get(name) ?? []), handler]);
  harnaisTrace({
    on,
    registerCommand: (name: string, { handler }: { handler: (args: string, ctx: object) => unknown }) => commands.set(name, handler),
  } as never);
  return {
    commands,
    emit: (name, event = {}, ctx = session("s1")) => handlers.get(name)?.forEach((handler) => handler({ type: name, ...event }, ctx)),
  };
}

function session(id: string, more: object = {}): object {
  const sessionManager = { getSessionId: () => id, getSessionFile: () => `/sessions/${id}.jsonl`, getEntries: () => [] };
  return { mode: "print", hasUI: false, cwd: folder, model: PRICED, modelRegistry: { find: () => undefined }, sessionManager, ...more };
}

const assistant = (more: object = {}): object => ({
  message: {
    role: "assistant",
    provider: "p",
    model: "m",
    content: [
      { type: "text", text: "Hello" },
      { type: "toolCall", name: "read" },
    ],
    usage: usage(1000, 50),
    stopReason: "stop",
    ...more,
  },
});
const read = (id = "s1"): Line[] =>
  readFileSync(join(folder, `${id}.jsonl`), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);

function billOf(event: object, ctx?: object): Record<string, unknown> | undefined {
  const { emit } = load();
  emit("session_start", { reason: "startup" }, ctx);
  emit("message_end", event, ctx);
  const line = read().find((candidate) => candidate.type === "assistant");
  return line?.payload;
}

test("a line has the six keys, an id of its own and the session's facts", () => {
  const { emit } = load();
  emit("session_start", { reason: "resume" });
  emit("session_shutdown", { reason: "quit" });
  const [start, end] = read();
  expect(Object.keys(start ?? {})).toEqual(["event_id", "ts", "session_id", "type", "name", "payload"]);
  expect(start).toMatchObject({ session_id: "s1", type: "session_start", name: "resume" });
  expect(start?.event_id).toMatch(/^hev_[0-9a-f]{12}$/);
  expect(start?.event_id).not.toBe(end?.event_id);
  expect(start?.payload).toMatchObject({
    mode: "print",
    model: "p/m",
    session_file: "/sessions/s1.jsonl",
    attempt: 2,
    pid: process.pid,
    harness: "pi",
  });
  expect(end?.payload).toEqual({ turns: 0, tools: 0, tokens: 0, cost_usd: 0, cost_complete: true, events: 2 });
});

test("a bill carries orthogonal tokens, the cost to the nano-USD, and what the message said", () => {
  const payload = billOf(
    assistant({
      usage: { ...usage(800, 50), cacheRead: 400, cacheWrite: 7, totalTokens: 99, cost: { total: 0.0032700000001 } },
      responseId: "r1",
      durationMs: 186,
    }),
  );
  expect(payload).toMatchObject({
    input: 800,
    output: 50,
    cache_read: 400,
    cache_write: 7,
    total_tokens: 1257,
    cost_usd: 0.00327,
    tool_calls: 1,
    chars: 5,
    response_id: "r1",
    duration_ms: 186,
  });
});

test.each([
  ["aborted", { stopReason: "aborted", usage: NO_USAGE, errorMessage: "Request was aborted" }],
  ["cut", { stopReason: "error", usage: NO_USAGE, errorMessage: "terminated: other side closed" }],
  ["finished without a usage", { stopReason: "stop", usage: NO_USAGE }],
  ["of no message usage at all", { usage: undefined }],
])("a call that was %s is unknown: null, never 0", (_what, message) => {
  expect(billOf(assistant(message))).toMatchObject({
    input: null,
    output: null,
    cache_read: null,
    cache_write: null,
    total_tokens: null,
    cost_usd: null,
  });
});

test.each(["401: {}", "429 Too Many Requests", "500: x"])(
  "a call refused with an HTTP status (%s) made no token: a known 0",
  (errorMessage) => {
    expect(billOf(assistant({ stopReason: "error", usage: NO_USAGE, errorMessage }))).toMatchObject({ total_tokens: 0, cost_usd: 0 });
  },
);

test.each([
  ["has no prices", undefined, UNPRICED, null],
  ["is unpriced for the factory", "unpriced", PRICED, null],
  ["is free for the factory", "free", UNPRICED, 0],
  ["has prices", undefined, PRICED, 0.00375],
])("a model that %s", (_what, price, model, costUsd) => {
  vi.stubEnv("HARNAIS_PRICE", price);
  const total = model === PRICED ? 0.00375 : 0;
  expect(billOf(assistant({ usage: usage(1000, 50, total) }), session("s1", { model }))).toMatchObject({
    total_tokens: 1050,
    cost_usd: costUsd,
  });
});

test("what compaction, branch summaries, tools and cache warming spend is billed, once", () => {
  const { emit } = load();
  const entries: object[] = [{ type: "usage", id: "old", kind: "cache_warm", provider: "p", model: "m", usage: usage(9, 9) }];
  const ctx = session("s1", { sessionManager: { getSessionId: () => "s1", getSessionFile: () => undefined, getEntries: () => entries } });
  emit("session_start", { reason: "startup" }, ctx);
  emit("session_before_compact", {}, ctx);
  emit("before_provider_headers", { headers: {} }, ctx);
  emit("before_provider_headers", { headers: {} }, ctx);
  emit("session_compact", { reason: "threshold", compactionEntry: { tokensBefore: 190_000, usage: usage(100, 10) } }, ctx);
  emit("session_before_compact", {}, ctx);
  emit("before_provider_headers", { headers: {} }, ctx);
  emit("session_compact_failed", { reason: "manual", aborted: false, errorMessage: "no luck" }, ctx);
  emit("session_tree", { summaryEntry: { usage: usage(200, 20) } }, ctx);
  emit("session_tree", {}, ctx);
  emit("message_end", { message: { role: "toolResult", toolName: "task", usage: usage(300, 30) } }, ctx);
  emit("message_end", { message: { role: "toolResult", toolName: "read" } }, ctx);
  entries.push({ type: "usage", id: "new", kind: "cache_warm", provider: "p", model: "m", usage: usage(400, 40) });
  emit("agent_settled", {}, ctx);
  emit("session_shutdown", { reason: "quit" }, ctx);
  const bills = read().filter((line) => line.type === "compaction");
  expect(bills.map((line) => [line.name, line.payload["total_tokens"], line.payload["calls"]])).toEqual([
    ["threshold", 110, 2],
    ["manual", null, 1],
    ["branch_summary", 220, undefined],
    ["tool:task", 330, undefined],
    ["cache_warm", 440, undefined],
  ]);
  expect(bills[1]?.payload).toMatchObject({ failed: true, cost_usd: null, error: "no luck" });
  expect(read().at(-1)?.payload).toMatchObject({ tokens: 1100, cost_usd: 0.0045, cost_complete: false });
});

test.each([
  ["refused, and again", [undefined, undefined], "Auto-compaction failed: Summarization failed: 500: {}", 0],
  ["answered, then refused", [200, undefined], "Auto-compaction failed: Summarization failed: 500: {}", null],
  ["cut", [200], "Auto-compaction failed: Summarization failed: terminated", null],
  ["broken before an answer", [undefined], "Compaction failed: Connection error.", null],
] as const)("a compaction whose calls were %s costs what is known of it", (_what, calls, errorMessage, costUsd) => {
  const { emit } = load();
  emit("session_start", { reason: "startup" });
  emit("session_before_compact");
  for (const status of calls) {
    emit("before_provider_headers", { headers: {} });
    if (status !== undefined) emit("after_provider_response", { status, headers: {} });
  }
  emit("session_compact_failed", { reason: "threshold", aborted: false, errorMessage });
  expect(read().find((line) => line.type === "compaction")?.payload).toMatchObject({
    ...{ failed: true, calls: calls.length, cost_usd: costUsd, total_tokens: costUsd },
  });
});

test("turns are never numbered twice in a process: not after a retry, not in a new session, not when an old one is resumed", () => {
  const { emit } = load();
  for (const id of ["s1", "s2", "s1"]) {
    emit("session_start", { reason: "new" }, session(id));
    for (let index = 0; index < 2; index++) {
      emit("turn_start", { turnIndex: 0 }, session(id));
      emit("turn_end", { turnIndex: 0, toolResults: [] }, session(id));
    }
    emit("session_shutdown", { reason: "new" }, session(id));
  }
  const turns = (id: string): unknown[] =>
    read(id)
      .filter((line) => line.type === "turn_start")
      .map((line) => line.payload["turn"]);
  expect([turns("s1"), turns("s2")]).toEqual([
    [1, 2, 5, 6],
    [3, 4],
  ]);
  // Totals restart with each session of the process.
  expect(
    read("s1")
      .filter((line) => line.type === "session_shutdown")
      .map((line) => [line.payload["turns"], line.payload["events"]]),
  ).toEqual([
    [2, 6],
    [2, 6],
  ]);
});

test("loaded twice in one process, it writes once; after a reload the new copy goes on with the totals", () => {
  const first = load();
  const second = load();
  for (const copy of [first, second]) copy.emit("session_start", { reason: "startup" });
  for (const copy of [first, second]) copy.emit("turn_start", {});
  for (const copy of [first, second]) copy.emit("session_shutdown", { reason: "reload" });
  const third = load();
  third.emit("session_start", { reason: "reload" });
  third.emit("turn_start", {});
  third.emit("session_shutdown", { reason: "quit" });
  expect(read().map((line) => line.type)).toEqual([
    "session_start",
    "turn_start",
    "session_shutdown",
    "session_start",
    "turn_start",
    "session_shutdown",
  ]);
  expect(read().at(-1)?.payload).toMatchObject({ turns: 2, events: 6 });
});

test("tools that run in parallel are paired by their ids; pi's own duration wins; without a start it is unknown", () => {
  const { emit } = load();
  emit("session_start", { reason: "startup" });
  emit("tool_execution_start", { toolCallId: "a", toolName: "bash", args: { command: "sleep 1" } });
  emit("tool_execution_start", { toolCallId: "b", toolName: "read", args: { path: "x" } });
  emit("tool_execution_end", {
    toolCallId: "b",
    toolName: "read",
    isError: true,
    durationMs: 269,
    result: { content: [{ type: "text", text: "12345" }] },
  });
  emit("tool_execution_end", { toolCallId: "a", toolName: "bash", isError: false, result: {} });
  emit("tool_execution_end", { toolCallId: "c", toolName: "ls", isError: false, result: null });
  const ends = read()
    .filter((line) => line.type === "tool_end")
    .map((line) => line.payload);
  expect(ends[0]).toEqual({ tool_call_id: "b", args: '{"path":"x"}', duration_ms: 269, is_error: true, result_chars: 5 });
  expect(ends[1]).toMatchObject({
    tool_call_id: "a",
    args: '{"command":"sleep 1"}',
    result_chars: null,
    duration_ms: expect.any(Number) as number,
  });
  expect(ends[2]).toMatchObject({ tool_call_id: "c", args: null, duration_ms: null });
});

function headOf(prompt: string): unknown {
  const { emit } = load();
  emit("session_start", { reason: "startup" });
  emit("before_agent_start", { messageType: "user", prompt });
  return read().find((line) => line.type === "prompt")?.payload["head"];
}

test("heads are redacted, then cut to 120 characters, also where a secret stands on the edge", () => {
  const key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
  const head = String(headOf(`${"x ".repeat(52)}${key} after`));
  expect(head).toHaveLength(121);
  expect(head).not.toContain("ghp_");
  expect(head.endsWith("…")).toBe(true);
});

test("a secret of the environment is redacted by its value, a password in a tool's arguments by its look", () => {
  vi.stubEnv("SOME_SERVICE_TOKEN", "correct horse battery staple");
  const { emit } = load();
  emit("session_start", { reason: "startup" });
  emit("tool_execution_start", { toolCallId: "a", toolName: "bash", args: { command: 'export X="y" password="hunter22"' } });
  emit("tool_execution_start", { toolCallId: "b", toolName: "bash", args: { command: "echo correct horse battery staple" } });
  expect(String(read()[1]?.payload["args"])).not.toContain("hunter22");
  expect(read()[2]?.payload["args"]).toBe('{"command":"echo [redacted:secret]"}');
});

test("a megabyte of prompt, an emoji on the edge, NUL and half a surrogate pair are a head like any other", () => {
  expect(String(headOf(`${"a".repeat(119)}😀${"b".repeat(1_000_000)}`))).toBe(`${"a".repeat(119)}…`);
  rmSync(join(folder, "s1.jsonl"));
  delete (globalThis as Record<symbol, unknown>)[Symbol.for("harnais.trace")];
  expect(headOf("\u0000 \ud800")).toBe("\u0000 \ud800");
});

test("a message of an extension has no prompt: its text is the head", () => {
  const { emit } = load();
  emit("session_start", { reason: "startup" });
  emit("before_agent_start", { messageType: "custom", message: { customType: "x", content: "from an extension" } });
  expect(read()[1]).toMatchObject({ type: "prompt", name: "custom", payload: { chars: 17, head: "from an extension" } });
});

test("half a line left by another process, or a full disk, is never glued to the next", () => {
  writeFileSync(join(folder, "s1.jsonl"), '{"event_id":"hev_0000');
  const { emit } = load();
  emit("session_start", { reason: "startup" });
  expect(readFileSync(join(folder, "s1.jsonl"), "utf8").split("\n")[0]).toBe('{"event_id":"hev_0000');
  expect(JSON.parse(readFileSync(join(folder, "s1.jsonl"), "utf8").split("\n")[1] ?? "")).toMatchObject({ type: "session_start" });
});

test.runIf(existsSync("/dev/full"))(
  "a full disk costs the trace, not the work: no throw, one warning for the whole process, nothing on stdout",
  () => {
    symlinkSync("/dev/full", join(folder, "s1.jsonl"));
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const stdout = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    const { emit } = load();
    emit("session_start", { reason: "startup" });
    for (let n = 0; n < 5; n++) emit("message_end", assistant());
    emit("session_shutdown", { reason: "quit" });
    expect(stderr.mock.calls.map(([text]) => String(text))).toEqual([
      expect.stringMatching(/^harnais-trace: a part of the trace is lost \(ENOSPC.*the work goes on\n$/),
    ]);
    expect(stdout).not.toHaveBeenCalled();
  },
);

test("a folder that cannot be made, and events that are not what they should be, throw nothing into pi", () => {
  writeFileSync(join(folder, "file"), "");
  vi.stubEnv("HARNAIS_TRACE_DIR", join(folder, "file", "traces"));
  const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const { emit } = load();
  for (const name of [
    "session_start",
    "before_agent_start",
    "message_end",
    "turn_end",
    "tool_execution_end",
    "session_compact",
    "session_shutdown",
  ])
    emit(name, {});
  for (const name of ["turn_end", "message_end"]) emit(name, { message: null });
  expect(stderr).toHaveBeenCalledTimes(1);
});

test("the folder is made, down to the last; where the system refuses it, the probe does not try for ever", () => {
  vi.stubEnv("HARNAIS_TRACE_DIR", join(folder, "a", "b"));
  const { emit } = load();
  emit("session_start", { reason: "startup" });
  expect(existsSync(join(folder, "a", "b", "s1.jsonl"))).toBe(true);
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
  vi.stubEnv("HARNAIS_TRACE_DIR", "/proc/harnais/traces");
  emit("session_start", { reason: "new" }, session("s2"));
  expect(existsSync("/proc/harnais")).toBe(false);
});

test("with an interface it shows a status and answers /harnais-trace; without one it is silent", () => {
  const shown: unknown[] = [];
  const ui = { setStatus: (_key: string, text: string) => shown.push(text), notify: (text: string) => shown.push(text) };
  const { emit, commands } = load();
  commands.get("harnais-trace")?.("", session("s1", { hasUI: true, ui }));
  const ctx = session("s1", { hasUI: true, ui });
  emit("session_start", { reason: "startup" }, ctx);
  emit("turn_start", {}, ctx);
  emit("message_end", assistant(), ctx);
  emit("turn_end", { toolResults: [] }, ctx);
  commands.get("harnais-trace")?.("", ctx);
  expect(shown).toEqual([
    "no journal open",
    "◉ trace",
    "◉ 1 turns · 0 tools · $0.004",
    `4 events in ${join(folder, "s1.jsonl")} · 1 turns, 0 tools, 1050 tokens, $0.0037`,
  ]);
  commands.get("harnais-trace")?.("", session("s1", { ui: undefined }));
});
