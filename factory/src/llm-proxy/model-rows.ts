import type { Db } from "../db/tables.ts";
import type { PriceVersion } from "./price.ts";
import { findPriceNow } from "./price.sql.ts";
import { DEFAULT_PROVIDERS, type Provider } from "./provider.ts";
import { findProvider, insertMissingProviders } from "./provider.sql.ts";

/** The rows that the proxy reads. */
export interface ModelRows {
  findProvider(name: string): Promise<Provider | undefined>;
  /** The price that holds now. */
  findPrice(provider: string, model: string): Promise<PriceVersion | undefined>;
}

/** The rows of the database. */
export function createModelRows(db: Db): ModelRows {
  return {
    findProvider: (name) => findProvider(db, name),
    findPrice: (provider, model) => findPriceNow(db, provider, model),
  };
}

/** Adds the ready-made provider rows that are missing; existing ones stay as they are. */
export async function ensureDefaultProviders(db: Db): Promise<void> {
  await insertMissingProviders(db, DEFAULT_PROVIDERS);
}
