import { sql } from "kysely";
import type { Db } from "../db/tables.ts";
import type { PriceKey, PriceVersion } from "./price.ts";

const COLUMNS = ["provider", "model", "version", "validFrom", "input", "output", "cacheRead", "cacheWrite5m", "cacheWrite1h"] as const;

/** The row as it is stored; undefined when this version of the model's price exists. */
export async function insertPrice(db: Db, price: PriceVersion): Promise<PriceVersion | undefined> {
  return db
    .insertInto("prices")
    .values(price)
    .onConflict((conflict) => conflict.columns(["provider", "model", "version"]).doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
}

/** The price that holds now: the latest whose day has come. */
export async function findPriceNow(db: Db, provider: string, model: string): Promise<PriceVersion | undefined> {
  return db
    .selectFrom("prices")
    .select(COLUMNS)
    .where("provider", "=", provider)
    .where("model", "=", model)
    .where("validFrom", "<=", sql<string>`now()`)
    .orderBy("validFrom", "desc")
    .orderBy("version", "desc")
    .limit(1)
    .executeTakeFirst();
}

export async function findPrice(db: Db, key: PriceKey): Promise<PriceVersion | undefined> {
  return db
    .selectFrom("prices")
    .select(COLUMNS)
    .where("provider", "=", key.provider)
    .where("model", "=", key.model)
    .where("version", "=", key.version)
    .executeTakeFirst();
}

/** Prices after `after` in the order provider, model, version. */
export async function listPrices(db: Db, after: PriceKey, limit: number): Promise<PriceVersion[]> {
  return db
    .selectFrom("prices")
    .select(COLUMNS)
    .where(sql<boolean>`(provider, model, version) > (${after.provider}, ${after.model}, ${after.version})`)
    .orderBy("provider")
    .orderBy("model")
    .orderBy("version")
    .limit(limit)
    .execute();
}
