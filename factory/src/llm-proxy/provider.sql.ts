import type { Db } from "../db/tables.ts";
import type { Provider } from "./provider.ts";

const COLUMNS = ["name", "dialect", "baseUrl", "keyEnv", "enabled"] as const;

/** Inserts those of `providers` whose name is free. */
export async function insertMissingProviders(db: Db, providers: readonly Provider[]): Promise<void> {
  await db
    .insertInto("providers")
    .values([...providers])
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
}

/** True when the row was inserted; false when its name is taken. */
export async function insertProvider(db: Db, provider: Provider): Promise<boolean> {
  const row = await db
    .insertInto("providers")
    .values(provider)
    .onConflict((conflict) => conflict.column("name").doNothing())
    .returning("name")
    .executeTakeFirst();
  return row !== undefined;
}

export async function findProvider(db: Db, name: string): Promise<Provider | undefined> {
  return db.selectFrom("providers").select(COLUMNS).where("name", "=", name).executeTakeFirst();
}

/** Providers after the name `after`, by name. */
export async function listProviders(db: Db, after: string, limit: number): Promise<Provider[]> {
  return db.selectFrom("providers").select(COLUMNS).where("name", ">", after).orderBy("name").limit(limit).execute();
}

/** The changed row; undefined when there is none of that name. */
export async function updateProvider(db: Db, name: string, change: Partial<Omit<Provider, "name">>): Promise<Provider | undefined> {
  return db.updateTable("providers").set(change).where("name", "=", name).returning(COLUMNS).executeTakeFirst();
}

/** False when there was none of that name. */
export async function deleteProvider(db: Db, name: string): Promise<boolean> {
  const row = await db.deleteFrom("providers").where("name", "=", name).returning("name").executeTakeFirst();
  return row !== undefined;
}
