import { nanoToUsd, sumCosts, sumTokens, usdToNano } from "@harnais/contracts/money.ts";

export interface Money {
  /** Null: nothing of it is known. */
  readonly costUsd: number | null;
  /** False: a part is unknown, the sum is "at least". */
  readonly costComplete: boolean;
  readonly tokens: number | null;
}

/** Adds USD exactly, unknown parts kept apart. */
export function sumUsd(costs: Iterable<number | null>): Pick<Money, "costUsd" | "costComplete"> {
  const { nanoUsd, complete } = sumCosts([...costs].map((usd) => (usd === null ? null : usdToNano(usd))));
  return { costUsd: nanoUsd === null ? null : nanoToUsd(nanoUsd), costComplete: complete };
}

/** Money and tokens of harness lines, runner's calls or parts of them. */
export function sumMoney(parts: readonly { readonly cost_usd: number | null; readonly total_tokens: number | null }[]): Money {
  return { ...sumUsd(parts.map((part) => part.cost_usd)), tokens: sumTokens(parts.map((part) => part.total_tokens)) };
}
