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

/** The classes of tokens alone. */
export function toPrice({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Price): Price {
  return { input, output, cacheRead, cacheWrite5m, cacheWrite1h };
}
