import type { Price } from "@harnais/contracts/money.ts";

/** One version of a model's prices, USD per million tokens. Rows never change: a new price is a new version. */
export interface PriceVersion extends Price {
  readonly provider: string;
  readonly model: string;
  readonly version: string;
  /** ISO 8601 UTC. */
  readonly validFrom: string;
}

/** Version under which calls of the rehearsal model are billed: its prices stand in its scenario files. */
export const REHEARSAL_PRICE_VERSION = "rehearsal";

const MICROS = 1_000_000;
/** Whether USD per million tokens has at most six decimals: what a price row keeps and a bill counts with. */
export const hasSixDecimals = (usd: number): boolean => Math.round(usd * MICROS) / MICROS === usd;

/** The classes of tokens alone. */
export function toPrice({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Price): Price {
  return { input, output, cacheRead, cacheWrite5m, cacheWrite1h };
}

/** What names a price. */
export type PriceKey = Pick<PriceVersion, "provider" | "model" | "version">;

/** `provider/model@version`. */
export const toPriceId = ({ provider, model, version }: PriceKey): string => `${provider}/${model}@${version}`;

/** The parts of a price's id; undefined when it is none. A model's id may hold slashes and @, a version no @. */
export function parsePriceId(id: string): PriceKey | undefined {
  const found = /^([^/]+)\/(.+)@([^@]+)$/.exec(id);
  const [, provider, model, version] = found ?? [];
  return provider === undefined || model === undefined || version === undefined ? undefined : { provider, model, version };
}
