import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createPiParser } from "./pi-stream.ts";

const { parseLine } = createPiParser("priced");

const USAGE = {
  input: 800,
  output: 50,
  cacheRead: 400,
  cacheWrite: 0,
  totalTokens: 1250,
  cost: { input: 0.0024, output: 0.00075, cacheRead: 0.00012, cacheWrite: 0, total: 0.00327 },
};
const assistant = (fields: object = {}): string =>
  JSON.stringify({
    type: "message_end",
    message: {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "Let me " },
        { type: "text", text: "look." },
        { type: "toolCall", id: "c1" },
      ],
      provider: "rehearsal",
      model: "demo",
      usage: USAGE,
      stopReason: "toolUse",
      responseId: "chatcmpl-70",
      ...fields,
    },
  });

test("a message's end is one call: text, tool calls, tokens and cost in nano-USD", () => {
  expect(parseLine(assistant())).toEqual([
    {
      type: "assistant",
      model: "rehearsal/demo",
      usage: { input: 800, output: 50, cacheRead: 400, cacheWrite: 0, totalTokens: 1250, costNanoUsd: 3_270_000 },
      stopReason: "toolUse",
      text: "Let me look.",
      toolCalls: 1,
      responseId: "chatcmpl-70",
      error: null,
    },
  ]);
});

test.each([
  ["turn_end", JSON.stringify({ type: "turn_end", message: JSON.parse(assistant()).message })],
  ["agent_end", JSON.stringify({ type: "agent_end", messages: [JSON.parse(assistant()).message] })],
  ["message_update", JSON.stringify({ type: "message_update", usage: USAGE })],
  ["a user's message", JSON.stringify({ type: "message_end", message: { role: "user", content: "hi" } })],
  ["an event that is not known", '{"type":"weather_changed","usage":{"input":1}}'],
  ["an empty line", "  "],
])("%s repeats or says nothing: no event", (_kind, line) => {
  expect(parseLine(line)).toEqual([]);
});

test("tools, turns, session and the last event", () => {
  const lines = [
    { type: "session", version: 3, id: "3f2a", cwd: "/x" },
    { type: "turn_start" },
    { type: "tool_execution_start", toolCallId: "c1", toolName: "bash", args: { command: "x".repeat(500) } },
    { type: "tool_execution_end", toolCallId: "c1", toolName: "bash", result: {}, isError: true, durationMs: 274 },
    { type: "tool_execution_end", toolCallId: "c2", toolName: "read", result: {}, isError: false },
    { type: "agent_settled", aborted: false },
  ];
  expect(lines.flatMap((line) => parseLine(JSON.stringify(line)))).toEqual([
    { type: "session", sessionId: "3f2a" },
    { type: "turn_start" },
    { type: "tool_start", tool: "bash", toolCallId: "c1", argsHead: `{"command":"${"x".repeat(108)}` },
    { type: "tool_end", tool: "bash", toolCallId: "c1", isError: true, durationMs: 274 },
    { type: "tool_end", tool: "read", toolCallId: "c2", isError: false, durationMs: null },
    { type: "final" },
  ]);
});

test("compaction is spent: its end carries the usage; a failed one and one that is tried again are calls all the same", () => {
  const lines = [
    { type: "compaction_start", reason: "threshold" },
    { type: "summarization_retry_scheduled", attempt: 1, errorMessage: "500: {}" },
    { type: "summarization_retry_attempt_start", source: "compaction" },
    { type: "compaction_end", reason: "threshold", result: { summary: "s", usage: USAGE }, aborted: false },
    {
      type: "compaction_end",
      reason: "threshold",
      aborted: false,
      errorMessage: "Auto-compaction failed: Summarization failed: terminated",
    },
    {
      type: "compaction_end",
      reason: "threshold",
      aborted: false,
      errorMessage: "Auto-compaction failed: Summarization failed: 429: slow",
    },
  ];
  expect(lines.flatMap((line) => parseLine(JSON.stringify(line)))).toMatchObject([
    { type: "compaction_start" },
    { type: "compaction", failed: true, usage: { totalTokens: 0, costNanoUsd: 0 } },
    { type: "compaction_start" },
    { type: "compaction", failed: false, usage: { totalTokens: 1250, costNanoUsd: 3_270_000 } },
    { type: "compaction", failed: true, usage: { totalTokens: null, costNanoUsd: null } },
    { type: "compaction", failed: true, usage: { totalTokens: 0, costNanoUsd: 0 } },
  ]);
});

describe("what pi does not know is null, never 0", () => {
  const zeros = {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
  test.each([
    ["aborted", { usage: zeros, stopReason: "aborted", errorMessage: "Request was aborted" }, null, null],
    ["cut", { usage: zeros, stopReason: "error", errorMessage: "terminated: other side closed" }, null, null],
    ["no usage sent", { usage: zeros, stopReason: "stop" }, null, null],
    ["refused with 401", { usage: zeros, stopReason: "error", errorMessage: '401: {"message":"no"}' }, 0, 0],
    ["refused with 503", { usage: zeros, stopReason: "error", errorMessage: "503 status code (no body)" }, 0, 0],
    ["a number in the words", { usage: zeros, stopReason: "error", errorMessage: "waited 500 ms" }, null, null],
    ["a usage that is none", { usage: { input: "many" }, stopReason: "stop" }, null, null],
    ["a negative usage", { usage: { ...USAGE, input: -1 }, stopReason: "stop" }, null, null],
  ])("%s", (_case, fields, tokens, costNanoUsd) => {
    expect(parseLine(assistant(fields))).toMatchObject([{ usage: { totalTokens: tokens, costNanoUsd } }]);
  });

  test("without a price the tokens are known and the cost is not; a free model costs 0; a refusal costs 0 in any case", () => {
    const free = { ...USAGE, cost: zeros.cost };
    expect(createPiParser("unpriced").parseLine(assistant({ usage: free }))).toMatchObject([
      { usage: { totalTokens: 1250, costNanoUsd: null } },
    ]);
    expect(createPiParser("free").parseLine(assistant({ usage: free }))).toMatchObject([{ usage: { totalTokens: 1250, costNanoUsd: 0 } }]);
    const refused = assistant({ usage: zeros, stopReason: "error", errorMessage: "401: no" });
    expect(createPiParser("unpriced").parseLine(refused)).toMatchObject([{ usage: { costNanoUsd: 0 } }]);
  });

  test("a total that the provider reported is replaced by the sum of our prices", () => {
    const cost = { ...USAGE.cost, total: 0.5, totalFromProvider: true };
    expect(parseLine(assistant({ usage: { ...USAGE, cost } }))).toMatchObject([{ usage: { costNanoUsd: 3_270_000 } }]);
  });
});

describe("hostile lines", () => {
  test("what is not JSON is noise, cut to a bearable length", () => {
    expect(parseLine("npm warn something")).toEqual([{ type: "noise", line: "npm warn something" }]);
    expect(parseLine("x".repeat(1_000_000))).toEqual([{ type: "noise", line: "x".repeat(2000) }]);
  });

  test("a line cut at any place never throws and never makes a call", () => {
    const line = assistant();
    for (let length = 0; length < line.length; length++)
      expect(parseLine(line.slice(0, length)).filter((event) => event.type !== "noise")).toEqual([]);
  });

  test.each([
    "null",
    "[]",
    "{}",
    "42",
    '{"type":null}',
    '{"type":"__proto__"}',
    '{"type":"constructor","toString":1}',
    '{"type":"message_end"}',
    '{"type":"message_end","message":null}',
    '{"type":"message_end","message":{"role":"assistant"}}',
    '{"type":"message_end","message":{"role":"assistant","content":[null,1,{"type":"text","text":5}],"usage":{"cost":[]},"stopReason":{}}}',
    '{"type":"tool_execution_start","toolCallId":1}',
    '{"type":"tool_execution_end"}',
    '{"type":"compaction_end","result":7,"errorMessage":[]}',
    '{"type":"session","id":[]}',
    '{"message":{"role":"assistant"},"type":"message_end","__proto__":{"polluted":true}}',
  ])("%s is survived", (line) => {
    expect(() => parseLine(line)).not.toThrow();
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    const costs = parseLine(line).flatMap((event) => (event.type === "assistant" ? [event.usage.costNanoUsd] : []));
    expect(costs.filter((cost) => cost !== null)).toEqual([]);
  });

  test("a huge line and deep nesting end without a call", () => {
    const huge = assistant({ content: [{ type: "text", text: "a".repeat(17 * 1024 * 1024) }] });
    expect(parseLine(huge)).toMatchObject([{ type: "noise" }]);
    const deep = `{"type":"message_end","message":${"[".repeat(100_000)}`;
    expect(parseLine(deep)).toMatchObject([{ type: "noise" }]);
  });

  test("a call without a usage is a call of unknown cost", () => {
    const line = '{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"stop"}}';
    expect(parseLine(line)).toMatchObject([{ type: "assistant", usage: { totalTokens: null, costNanoUsd: null } }]);
  });

  test("random bytes", () => {
    for (let round = 0; round < 200; round++)
      expect(() => parseLine(`{"type":"message_end"${randomBytes(40).toString("latin1")}`)).not.toThrow();
  });
});
