import {
  AssistantPayloadSchema,
  CompactionPayloadSchema,
  type HarnessBill,
  SessionStartPayloadSchema,
} from "@harnais/contracts/harness-event.ts";
import type { TraceEvent, TracePhase } from "./run-trace.ts";

/** A bill of the harness's own book: one `assistant` or `compaction` line. */
export interface HarnessCall extends HarnessBill {
  readonly kind: "assistant" | "compaction";
  readonly eventId: string;
  readonly sessionId: string;
  readonly name: string | null;
  /** Turn within its process; 0 before the first. */
  readonly turn: number;
  /** Head of what the turn did first: a tool's arguments, else the prompt. */
  readonly head: string | null;
  readonly responseId: string | null;
  /** The proxy's `x-request-id`, which is its bill's id. */
  readonly requestId: string | null;
  readonly stopReason: string | null;
  readonly error: string | null;
  /** A compaction that failed. */
  readonly failed: boolean;
  /** Model calls that the line stands for (a compaction may take several); null when it does not say. */
  readonly calls: number | null;
}

/** What the harness says of one attempt: the lines from its `session_start` to the next. */
export interface AttemptTrace {
  readonly attempt: number;
  readonly turns: number;
  readonly tools: number;
  readonly calls: readonly HarnessCall[];
}

/** Tells the attempts of a phase apart by the `session_start` lines: each process on a session writes its own. */
export function splitAttempts(phase: Pick<TracePhase, "harness">): readonly AttemptTrace[] {
  const blocks: Block[] = [];
  for (const event of phase.harness) {
    if (event.type === "session_start" && event.name !== "reload")
      blocks.push({ attempt: toAttempt(event, blocks.length + 1), events: [] });
    // Lines before any session_start (its write was lost) are the first attempt's.
    if (blocks.length === 0) blocks.push({ attempt: 1, events: [] });
    blocks.at(-1)?.events.push(event);
  }
  const numbers = [...new Set(blocks.map((block) => block.attempt))].sort((a, b) => a - b);
  return numbers.map((attempt) =>
    toAttemptTrace(
      attempt,
      blocks.filter((block) => block.attempt === attempt).flatMap((block) => block.events),
    ),
  );
}

interface Block {
  readonly attempt: number;
  readonly events: TraceEvent[];
}

function toAttempt(event: TraceEvent, ordinal: number): number {
  const parsed = SessionStartPayloadSchema.shape.attempt.safeParse(event.payload["attempt"]);
  return parsed.success && parsed.data !== null ? parsed.data : ordinal;
}

function toAttemptTrace(attempt: number, events: readonly TraceEvent[]): AttemptTrace {
  const calls: (HarnessCall & { head: string | null })[] = [];
  let turn = 0;
  let prompt: string | null = null;
  let pending: (HarnessCall & { head: string | null }) | undefined;
  for (const event of events) {
    if (event.type === "turn_start") {
      turn = Number(event.payload["turn"] ?? turn + 1);
      pending = undefined;
    } else if (event.type === "prompt") prompt = toHead(event.payload["head"]);
    else if (event.type === "tool_start" && pending !== undefined) {
      // The first tool of the turn says best what it was about.
      pending.head = `${event.name ?? ""} ${toHead(event.payload["args"]) ?? ""}`.trim();
      pending = undefined;
    } else if (event.type === "assistant" || event.type === "compaction") {
      const call = { ...toCall(event, event.type), turn, head: event.type === "compaction" ? `compaction (${event.name ?? ""})` : prompt };
      calls.push(call);
      pending = event.type === "assistant" ? call : pending;
    }
  }
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  return { attempt, turns: count("turn_start"), tools: count("tool_end"), calls };
}

const NOTHING_KNOWN: HarnessBill = { input: null, output: null, cache_read: null, cache_write: null, total_tokens: null, cost_usd: null };

function toCall(event: TraceEvent, kind: "assistant" | "compaction"): Omit<HarnessCall, "turn" | "head"> {
  const { eventId, sessionId, name, payload } = event;
  const common = { kind, eventId, sessionId, name, calls: typeof payload["calls"] === "number" ? payload["calls"] : null };
  if (kind === "compaction") {
    const parsed = CompactionPayloadSchema.safeParse(payload);
    const { failed = false, error = null, tokens_before: _before, ...bill } = parsed.success ? parsed.data : NO_COMPACTION;
    return { ...common, ...bill, failed, error, responseId: null, requestId: null, stopReason: null };
  }
  const parsed = AssistantPayloadSchema.safeParse(payload);
  if (!parsed.success)
    return {
      ...common,
      ...NOTHING_KNOWN,
      failed: false,
      error: "the line does not parse",
      responseId: null,
      requestId: null,
      stopReason: null,
    };
  const { response_id, request_id, stop_reason, error, input, output, cache_read, cache_write, total_tokens, cost_usd } = parsed.data;
  const bill = { input, output, cache_read, cache_write, total_tokens, cost_usd };
  const ids = { responseId: response_id ?? null, requestId: request_id ?? null };
  return { ...common, ...bill, ...ids, failed: false, error: error ?? null, stopReason: stop_reason };
}

const NO_COMPACTION = { ...NOTHING_KNOWN, failed: undefined, error: "the line does not parse", tokens_before: undefined };
const toHead = (value: unknown): string | null => (typeof value === "string" ? value : null);
