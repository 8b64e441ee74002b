import { PageQuery, PriceBody } from "@harnais/contracts/api-bodies.ts";
import { Hono } from "hono";
import { z } from "zod";
import type { Db } from "../db/tables.ts";
import { validate } from "../http/validate.ts";
import { FactoryError } from "../lib/errors.ts";
import { hasSixDecimals, type PriceKey, parsePriceId, type PriceVersion, toPrice, toPriceId } from "./price.ts";
import { findPrice, insertPrice, listPrices } from "./price.sql.ts";
import { REHEARSAL } from "./provider.ts";
import { findProvider } from "./provider.sql.ts";

/** What the column keeps (numeric(15,6)): a finer price would be stored as another one, the smallest as free. */
const usd = PriceBody.shape.input.refine(hasSixDecimals, "has at most six decimals");
const CreateBody = PriceBody.extend({
  version: PriceBody.shape.version
    .unwrap()
    .regex(/^[^@]+$/, "holds no @")
    .optional(),
  // Every class is said, also the one that costs 0: a price that was left out would have to be invented.
  ...{ input: usd, output: usd, cacheRead: usd, cacheWrite5m: usd, cacheWrite1h: usd },
});
type PriceCreation = z.infer<typeof CreateBody>;
const Params = z.object({ id: z.string().transform(toKey) });
const FIRST: PriceKey = { provider: "", model: "", version: "" };

/** `/prices`: rows that never change; `:id` is `provider/model@version`, URL-encoded. */
export function priceRoutes(db: Db): Hono {
  return new Hono()
    .get("/prices", validate("query", PageQuery), async (c) => {
      const { after, limit } = c.req.valid("query");
      const rows = await listPrices(db, toCursor(after), limit + 1);
      const items = rows.slice(0, limit).map(toView);
      return c.json({ items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null });
    })
    .post("/prices", validate("json", CreateBody), async (c) => c.json(toView(await addPrice(db, c.req.valid("json"))), 201))
    .get("/prices/:id", validate("param", Params), async (c) => {
      const key = c.req.valid("param").id;
      const price = await findPrice(db, key);
      if (price === undefined) throw new FactoryError("not-found", `no price ${toPriceId(key)}: \`harnais prices list\` shows them`);
      return c.json(toView(price));
    })
    .patch("/prices/:id", validate("param", Params), (c) => refuseChange(c.req.valid("param").id))
    .delete("/prices/:id", validate("param", Params), (c) => refuseChange(c.req.valid("param").id));
}

function toView(price: PriceVersion): PriceVersion & { readonly id: string } {
  return { id: toPriceId(price), ...price };
}

async function addPrice(db: Db, input: PriceCreation): Promise<PriceVersion> {
  if (input.provider === REHEARSAL)
    throw new FactoryError("bad-input", "provider: prices of the rehearsal model stand in its scenario files", { field: "provider" });
  if ((await findProvider(db, input.provider)) === undefined)
    throw new FactoryError("unknown-provider", `provider: no provider ${input.provider}, add it first`, { field: "provider" });
  const validFrom = new Date(input.validFrom ?? Date.now()).toISOString();
  const price: PriceVersion = {
    ...{ provider: input.provider, model: input.model, version: input.version ?? validFrom.slice(0, 10), validFrom },
    ...toPrice(input),
  };
  const stored = await insertPrice(db, price);
  if (stored === undefined)
    throw new FactoryError("conflict", `price ${toPriceId(price)} exists and never changes: give the new one another version`, {
      field: "version",
    });
  return stored;
}

function refuseChange(key: PriceKey): never {
  throw new FactoryError(
    "conflict",
    `price ${toPriceId(key)}: prices never change, bills refer to them; add a new version with \`harnais prices add\``,
  );
}

function toCursor(after: string | undefined): PriceKey {
  const key = after === undefined ? FIRST : parsePriceId(after);
  if (key === undefined) throw new FactoryError("bad-input", "after: is not a price's id (provider/model@version)", { field: "after" });
  return key;
}

function toKey(id: string, context: z.RefinementCtx): PriceKey {
  const key = parsePriceId(id);
  if (key !== undefined) return key;
  context.addIssue({ code: "custom", message: "is not a price's id: provider/model@version" });
  return z.NEVER;
}
