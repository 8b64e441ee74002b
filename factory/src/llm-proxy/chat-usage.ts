import { isRecord } from "@harnais/contracts/json.ts";
import type { TokenUsage } from "@harnais/contracts/money.ts";

// The `usage` object of the chat-completions dialect.

const MAX_TOKENS = 1_000_000_000_000;

/** Cached tokens are part of `prompt_tokens`: fresh input is what remains. Null when the figures are not counts. Never throws. */
export function toTokenUsage(value: unknown): TokenUsage | null {
  if (!isRecord(value)) return null;
  const prompt = countOf(value["prompt_tokens"]);
  const output = countOf(value["completion_tokens"]);
  if (prompt === undefined || output === undefined) return null;
  const details = isRecord(value["prompt_tokens_details"]) ? value["prompt_tokens_details"] : {};
  const outputDetails = isRecord(value["completion_tokens_details"]) ? value["completion_tokens_details"] : {};
  // `prompt_cache_hit_tokens` is DeepSeek's word, `cached_tokens` at the top Moonshot's, `cache_write_tokens` OpenRouter's.
  const cacheRead = countOf(details["cached_tokens"]) ?? countOf(value["prompt_cache_hit_tokens"]) ?? countOf(value["cached_tokens"]) ?? 0;
  const cacheWrite = countOf(details["cache_write_tokens"]) ?? 0;
  const reasoning = countOf(outputDetails["reasoning_tokens"]) ?? countOf(value["reasoning_tokens"]) ?? 0;
  return { input: Math.max(0, prompt - cacheRead - cacheWrite), output, cacheRead, cacheWrite5m: cacheWrite, cacheWrite1h: 0, reasoning };
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS ? value : undefined;
}
