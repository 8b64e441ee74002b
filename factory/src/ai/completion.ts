import { parseJson } from "@harnais/contracts/json.ts";
import { type Price, nanoToUsd, priceNanoUsd, totalTokens } from "@harnais/contracts/money.ts";
import type { CountedCall } from "@harnais/contracts/runner-event.ts";
import { z } from "zod";
import { toTokenUsage } from "../llm-proxy/chat-usage.ts";

// What the factory itself counts of its own model calls.

const CompletionSchema = z.object({
  id: z.string().nullish(),
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }), finish_reason: z.string().nullish() })).min(1),
  usage: z.unknown(),
});

export interface Completion {
  readonly text: string;
  readonly call: CountedCall;
}

/** Reads the JSON answer of a chat-completions call; undefined when it is none. */
export function parseCompletion(body: string, label: string, price: Price | null): Completion | undefined {
  const parsed = CompletionSchema.safeParse(parseJson(body));
  const choice = parsed.data?.choices[0];
  if (parsed.data === undefined || choice === undefined) return undefined;
  const usage = toTokenUsage(parsed.data.usage);
  return {
    text: choice.message.content ?? "",
    call: {
      kind: "factory",
      response_id: parsed.data.id ?? null,
      label,
      tokens: usage === null ? null : totalTokens(usage),
      cost_usd: usage === null || price === null ? null : nanoToUsd(priceNanoUsd(usage, price)),
      stop_reason: choice.finish_reason ?? null,
    },
  };
}

/** A call that the provider refused: it cost a known nothing. */
export function toRefusedCall(label: string): CountedCall {
  return { kind: "factory", response_id: null, label, tokens: 0, cost_usd: 0, stop_reason: "error" };
}

/** A call that went up and broke off: what it cost is not known here. */
export function toUnknownCall(label: string): CountedCall {
  return { kind: "factory", response_id: null, label, tokens: null, cost_usd: null, stop_reason: "error" };
}
