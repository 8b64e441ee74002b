import { z } from "zod";
import { type JsonRecord, parseRecord } from "@harnais/contracts/json.ts";
import { MAX_LINE_BYTES } from "@harnais/contracts/journal-line.ts";
import type { AgentEvent, AgentStreamParser } from "./agent-adapter.ts";
import type { PriceStatus } from "./pi-config.ts";
import { toCallUsage } from "./pi-usage.ts";

// `pi --mode json` (pi 1.6, docs/json.md of its package). Money is read from `message_end` and `compaction_end` only:
// `turn_end` and `agent_end` repeat it.

const NOTHING: readonly AgentEvent[] = [];
const MAX_NOISE_CHARS = 2000;
const MAX_ARGS_CHARS = 120;
const MAX_ERROR_CHARS = 2000;

const text = z.string();
const AssistantSchema = z.object({
  role: z.literal("assistant"),
  content: z.array(z.looseObject({ type: text })).catch([]),
  provider: text.catch("unknown"),
  model: text.catch("unknown"),
  stopReason: text.catch("unknown"),
  usage: z.unknown().optional(),
  errorMessage: text.nullish().catch(null),
  responseId: text.nullish().catch(null),
});
const CompactionSchema = z.object({
  result: z.object({ usage: z.unknown().optional() }).nullish().catch(null),
  errorMessage: text.nullish().catch(null),
});
const LINES = {
  session: z.object({ id: text }),
  turn_start: z.object({}),
  message_end: z.object({ message: z.unknown() }),
  tool_execution_start: z.object({ toolCallId: text, toolName: text, args: z.unknown() }),
  tool_execution_end: z.object({
    toolCallId: text,
    toolName: text,
    isError: z.boolean().catch(false),
    durationMs: z.number().nonnegative().nullish().catch(null),
  }),
  compaction_start: z.object({}),
  compaction_end: CompactionSchema,
  summarization_retry_scheduled: CompactionSchema,
  summarization_retry_attempt_start: z.object({}),
  agent_settled: z.object({}),
} as const;
type LineType = keyof typeof LINES;

const isWanted = (type: string): type is LineType => Object.hasOwn(LINES, type);
/** pi writes the type first: the long lines that only repeat (deltas, `turn_end`, `agent_end`) need not be parsed. */
const HEAD = /^\{"type":"([a-z_]{1,40})"/;

/** Turns pi's lines into events. Never throws, whatever the line. */
export function createPiParser(price: PriceStatus): AgentStreamParser {
  return {
    parseLine(line) {
      const type = HEAD.exec(line)?.[1];
      if (type !== undefined && !isWanted(type)) return NOTHING;
      const value = parseObject(line);
      if (value === undefined) return line.trim() === "" ? NOTHING : [toNoise(line)];
      if (typeof value["type"] !== "string") return [toNoise(line)];
      return isWanted(value["type"]) ? (toEvents(value["type"], value, price) ?? [toNoise(line)]) : NOTHING;
    },
  };
}

const parseObject = (line: string): JsonRecord | undefined =>
  line.startsWith("{") && line.length <= MAX_LINE_BYTES ? parseRecord(line) : undefined;

const toNoise = (line: string): AgentEvent => ({ type: "noise", line: line.slice(0, MAX_NOISE_CHARS) });

function toEvents(type: LineType, value: JsonRecord, price: PriceStatus): readonly AgentEvent[] | undefined {
  switch (type) {
    case "session": {
      const line = LINES.session.safeParse(value);
      return line.success ? [{ type: "session", sessionId: line.data.id }] : undefined;
    }
    case "turn_start":
      return [{ type }];
    case "compaction_start":
    case "summarization_retry_attempt_start":
      return [{ type: "compaction_start" }];
    case "agent_settled":
      return [{ type: "final" }];
    case "message_end":
      return toAssistant(value["message"], price);
    case "tool_execution_start":
    case "tool_execution_end":
      return toToolEvent(type, value);
    case "compaction_end":
    case "summarization_retry_scheduled":
      return toCompaction(value, price);
  }
}

/** Other roles (user, tool result) carry no call: nothing. */
function toAssistant(message: unknown, price: PriceStatus): readonly AgentEvent[] | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  if (!("role" in message) || message.role !== "assistant") return NOTHING;
  const parsed = AssistantSchema.safeParse(message);
  if (!parsed.success) return undefined;
  const { content, provider, model, stopReason, usage, errorMessage, responseId } = parsed.data;
  const error = errorMessage?.slice(0, MAX_ERROR_CHARS) ?? null;
  return [
    {
      type: "assistant",
      model: `${provider}/${model}`,
      usage: toCallUsage(usage, { error, price }),
      stopReason,
      text: content.map((part) => (part.type === "text" && typeof part["text"] === "string" ? part["text"] : "")).join(""),
      toolCalls: content.filter((part) => part.type === "toolCall").length,
      responseId: responseId ?? null,
      error,
    },
  ];
}

function toToolEvent(type: "tool_execution_start" | "tool_execution_end", value: object): readonly AgentEvent[] | undefined {
  if (type === "tool_execution_start") {
    const line = LINES.tool_execution_start.safeParse(value);
    if (!line.success) return undefined;
    const { toolName, toolCallId, args } = line.data;
    return [{ type: "tool_start", tool: toolName, toolCallId, argsHead: JSON.stringify(args ?? null).slice(0, MAX_ARGS_CHARS) }];
  }
  const line = LINES.tool_execution_end.safeParse(value);
  if (!line.success) return undefined;
  const { toolName, toolCallId, isError, durationMs } = line.data;
  return [{ type: "tool_end", tool: toolName, toolCallId, isError, durationMs: durationMs ?? null }];
}

/** A failed summary, also one that pi tries again, was a call all the same; its line carries no usage. */
function toCompaction(value: object, price: PriceStatus): readonly AgentEvent[] | undefined {
  const line = CompactionSchema.safeParse(value);
  if (!line.success) return undefined;
  const { result, errorMessage } = line.data;
  const error = errorMessage?.slice(0, MAX_ERROR_CHARS) ?? null;
  return [{ type: "compaction", usage: toCallUsage(result?.usage, { error, price }), failed: result == null, error }];
}
