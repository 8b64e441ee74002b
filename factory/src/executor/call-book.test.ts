import { expect, test } from "vitest";
import type { AgentEvent, CallUsage } from "../agents/agent-adapter.ts";
import { createCallBook } from "./call-book.ts";

const usage = (totalTokens: number | null, costNanoUsd: number | null): CallUsage => ({
  input: totalTokens,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens,
  costNanoUsd,
});
const assistant = (tokens: number | null, cost: number | null): AgentEvent => ({
  type: "assistant",
  model: "p/m",
  usage: usage(tokens, cost),
  stopReason: "stop",
  text: "",
  toolCalls: 0,
  responseId: "r",
  error: null,
});

test("calls, turns and tools are counted; money is summed in nano-USD", () => {
  const book = createCallBook("agent");
  const events: AgentEvent[] = [
    { type: "turn_start" },
    assistant(100, 100_000_000),
    { type: "tool_start", tool: "read", toolCallId: "1", argsHead: "" },
    { type: "tool_end", tool: "read", toolCallId: "1", isError: false, durationMs: 1 },
    { type: "turn_start" },
    assistant(200, 200_000_000),
    { type: "compaction_start" },
    { type: "compaction", usage: usage(50, 5), failed: false, error: null },
    { type: "noise", line: "x" },
  ];
  events.forEach((event) => book.add(event));
  book.close();
  expect(book.toProgress()).toEqual({ lastTool: "read", turns: 2, tools: 1, tokens: 350, cost: { nanoUsd: 300_000_005, complete: true } });
  expect(book.calls.map((call) => [call.kind, call.tokens, call.cost_usd])).toEqual([
    ["assistant", 100, 0.1],
    ["assistant", 200, 0.2],
    ["compaction", 50, 5e-9],
  ]);
});

test("a call that began and was not seen to end is booked as unseen, once", () => {
  const book = createCallBook("validation-repair");
  book.add({ type: "turn_start" });
  book.add(assistant(10, 1000));
  book.add({ type: "turn_start" });
  book.close();
  book.close();
  expect(book.calls.map((call) => [call.kind, call.label, call.tokens])).toEqual([
    ["assistant", "validation-repair", 10],
    ["unseen", "validation-repair", null],
  ]);
  expect(book.sum()).toEqual({ tokens: 10, cost: { nanoUsd: 1000, complete: false } });
});

test("so is a summary that was under way; a second try that ended is none", () => {
  const failed: AgentEvent = { type: "compaction", usage: usage(0, 0), failed: true, error: "500" };
  const book = createCallBook("agent");
  for (const event of [{ type: "compaction_start" }, failed, { type: "compaction_start" }] as AgentEvent[]) book.add(event);
  book.close();
  expect(book.calls.map((call) => call.kind)).toEqual(["compaction", "unseen"]);
});

test("the factory's own calls keep their label; without any call nothing was spent", () => {
  const book = createCallBook("agent");
  expect(book.sum()).toEqual({ tokens: 0, cost: { nanoUsd: 0, complete: true } });
  book.addFactoryCalls([
    { kind: "factory", response_id: "r", label: "structured-repair", tokens: 7, cost_usd: 0.001, stop_reason: "stop" },
  ]);
  expect(book.calls[0]?.label).toBe("structured-repair");
  expect(book.sum()).toEqual({ tokens: 7, cost: { nanoUsd: 1_000_000, complete: true } });
});
