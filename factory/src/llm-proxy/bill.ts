import type { Bill, BillOutcome, CostStatus } from "@harnais/contracts/bill.ts";
import { nanoToUsd, priceNanoUsd, type TokenUsage } from "@harnais/contracts/money.ts";
import type { BillOpening } from "./bill-line.ts";

// Pure rules of X3: what one model call cost, whatever its outcome.

// Rule of thumb for English and code; used only where the provider gave no figures, and marked `estimated`.
const CHARS_PER_TOKEN = 4;

/** What a call came to, apart from its money. */
export interface CallEnd {
  readonly outcome: BillOutcome;
  readonly httpStatus: number | null;
  readonly modelAnswered: string | null;
  readonly finishReason: string | null;
  readonly responseId: string | null;
  readonly responseBytes: number;
  readonly firstByteMs: number | null;
  readonly upstreamMs: number | null;
  readonly totalMs: number | null;
  readonly usage: CallUsage;
}

/** `refused`: the provider produced no token (HTTP status of an error, or never reached). */
export type CallUsage =
  | { readonly type: "provider"; readonly usage: TokenUsage }
  | { readonly type: "refused" }
  | { readonly type: "estimated"; readonly outputChars: number };

const NO_TOKENS: TokenUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, reasoning: 0 };

/** The whole bill of an ended call. */
export function toBill(opening: BillOpening, end: CallEnd): Bill {
  const { process: _process, rehearsal: _rehearsal, price, price_version, ...asked } = opening;
  const usage = toTokens(opening, end.usage);
  const status = toCostStatus(opening, end.usage);
  return {
    ...asked,
    model_answered: end.modelAnswered,
    first_byte_ms: toMs(end.firstByteMs),
    upstream_ms: toMs(end.upstreamMs),
    overhead_ms: end.totalMs === null || end.upstreamMs === null ? null : toMs(Math.max(0, end.totalMs - end.upstreamMs)),
    total_ms: toMs(end.totalMs),
    http_status: end.httpStatus,
    outcome: end.outcome,
    finish_reason: end.finishReason,
    input: usage.input,
    cache_read: usage.cacheRead,
    cache_write_5m: usage.cacheWrite5m,
    cache_write_1h: usage.cacheWrite1h,
    output: usage.output,
    reasoning: usage.reasoning ?? null,
    usage_source: end.usage.type === "refused" ? null : end.usage.type,
    cost_usd: toCostUsd(usage, status, price),
    cost_status: status,
    price_version,
    response_id: end.responseId,
    response_bytes: end.responseBytes,
  };
}

function toTokens(opening: BillOpening, usage: CallUsage): TokenUsage {
  if (usage.type === "provider") return usage.usage;
  if (usage.type === "refused") return NO_TOKENS;
  return {
    ...{ input: Math.ceil(opening.request_bytes / CHARS_PER_TOKEN), output: Math.ceil(usage.outputChars / CHARS_PER_TOKEN) },
    ...{ cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 },
  };
}

function toCostStatus({ price, rehearsal }: BillOpening, usage: CallUsage): CostStatus {
  if (usage.type === "refused") return "free";
  if (price === null) return "unpriced";
  if (rehearsal) return "notional";
  return usage.type === "estimated" ? "estimated" : "priced";
}

function toCostUsd(usage: TokenUsage, status: CostStatus, price: BillOpening["price"]): number | null {
  if (status === "free") return 0;
  return price === null ? null : nanoToUsd(priceNanoUsd(usage, price));
}

function toMs(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000;
}
