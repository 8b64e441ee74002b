import { z } from "zod";
import { usdToNano } from "@harnais/contracts/money.ts";
import type { CallUsage } from "./agent-adapter.ts";
import { readHttpStatus } from "./http-refusal.ts";
import type { PriceStatus } from "./pi-config.ts";

// What pi 1.6 says of one model call, and when its zeros mean "unknown". The probe follows the same rules.

export const UNKNOWN_USAGE: CallUsage = {
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  totalTokens: null,
  costNanoUsd: null,
};
const REFUSED_USAGE: CallUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, costNanoUsd: 0 };

const tokens = z.number().int().nonnegative();
const usd = z.number().nonnegative();
const PiUsageSchema = z.object({
  input: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  cost: z.object({ input: usd, output: usd, cacheRead: usd, cacheWrite: usd, total: usd, totalFromProvider: z.boolean().optional() }),
});
type PiCost = z.infer<typeof PiUsageSchema>["cost"];

/**
 * Usage of a call. All zeros is what pi shows when it could not know (cut, aborted, no usage sent): null; a call that
 * was refused with an HTTP status made no token and cost nothing. Without a price the cost is null.
 */
export function toCallUsage(usage: unknown, { error, price }: { error: string | null; price: PriceStatus }): CallUsage {
  const parsed = PiUsageSchema.safeParse(usage);
  const totalTokens = parsed.success ? parsed.data.input + parsed.data.output + parsed.data.cacheRead + parsed.data.cacheWrite : 0;
  if (!parsed.success || totalTokens === 0) return readHttpStatus(error) === undefined ? UNKNOWN_USAGE : REFUSED_USAGE;
  const { input, output, cacheRead, cacheWrite, cost } = parsed.data;
  return { input, output, cacheRead, cacheWrite, totalTokens, costNanoUsd: price === "unpriced" ? null : toNanoUsd(cost) };
}

/** Under the provider name `openrouter` pi replaces the total by the provider's own figure; the parts follow our price table. */
function toNanoUsd(cost: PiCost): number {
  const total = cost.totalFromProvider === true ? cost.input + cost.output + cost.cacheRead + cost.cacheWrite : cost.total;
  return usdToNano(total);
}
