// Money is an integer number of nano-USD in code, numeric USD in the database, a USD number in JSONL.

const NANO_PER_USD = 1_000_000_000;

/** USD per million tokens, by class of token. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
}

/** Tokens of one model call; the classes do not overlap (`input` is fresh input only; `reasoning` is a part of `output`). */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly reasoning?: number;
}

/** Total tokens of a call: input + output + cache reads + cache writes. */
export function totalTokens(usage: TokenUsage): number {
  return usage.input + usage.output + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h;
}

/** The price of one call in nano-USD, exact until it is rounded once, half up. */
export function priceNanoUsd(usage: TokenUsage, price: Price): number {
  const pico =
    tokensPico(usage.input, price.input) +
    tokensPico(usage.output, price.output) +
    tokensPico(usage.cacheRead, price.cacheRead) +
    tokensPico(usage.cacheWrite5m, price.cacheWrite5m) +
    tokensPico(usage.cacheWrite1h, price.cacheWrite1h);
  return Number((pico + 500n) / 1000n);
}

/** tokens × USD per million, in 1e-12 USD: prices carry at most six decimals. */
function tokensPico(tokens: number, usdPerMillion: number): bigint {
  return BigInt(tokens) * BigInt(Math.round(usdPerMillion * 1_000_000));
}

export const usdToNano = (usd: number): number => Math.round(usd * NANO_PER_USD);
export const nanoToUsd = (nanoUsd: number): number => nanoUsd / NANO_PER_USD;

/** A sum of costs some of which may be unknown: `nanoUsd` is null when none is known. */
export interface CostSum {
  readonly nanoUsd: number | null;
  /** False when a part of the sum is unknown: show it as "at least". */
  readonly complete: boolean;
}

/** Adds known costs; an unknown one (null) makes the sum incomplete, never smaller by a zero. No cost at all is a complete zero. */
export function sumCosts(costs: Iterable<number | null>): CostSum {
  const { sum, complete } = sumKnown(costs);
  return { nanoUsd: sum, complete };
}

/** Adds token counts; null (unknown) only when none is known. */
export const sumTokens = (counts: Iterable<number | null>): number | null => sumKnown(counts).sum;

function sumKnown(parts: Iterable<number | null>): { readonly sum: number | null; readonly complete: boolean } {
  let sum = 0;
  let knownCount = 0;
  let unknownCount = 0;
  for (const part of parts) {
    if (part === null) unknownCount++;
    else {
      sum += part;
      knownCount++;
    }
  }
  return { sum: knownCount === 0 && unknownCount > 0 ? null : sum, complete: unknownCount === 0 };
}

export interface MoneyFormat {
  /** False: a part is unknown, prints `at least ~$…`. Default true. */
  readonly complete?: boolean;
  /** Who says so and on what terms, e.g. `runner, rehearsal`: printed in brackets. */
  readonly source?: string;
}

/** `~$0.0141 (runner, rehearsal)`; four decimals, more for small sums so that two digits are significant; null is `cost unknown`. */
export function formatUsd(usd: number | null, { complete = true, source }: MoneyFormat = {}): string {
  const suffix = source === undefined ? "" : ` (${source})`;
  if (usd === null) return `cost unknown${suffix}`;
  return `${complete ? "" : "at least "}~$${toDecimals(usd)}${suffix}`;
}

function toDecimals(usd: number): string {
  const magnitude = Math.abs(usd);
  if (magnitude === 0 || magnitude >= 0.001) return usd.toFixed(4);
  const decimals = Math.min(9, Math.ceil(-Math.log10(magnitude)) + 1);
  return usd.toFixed(decimals);
}
