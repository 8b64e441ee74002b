import { PageQuery, ProviderBody, type ProviderInput, SLUG } from "@harnais/contracts/api-bodies.ts";
import { Hono } from "hono";
import { z } from "zod";
import type { Db } from "../db/tables.ts";
import { validate } from "../http/validate.ts";
import { FactoryError } from "../lib/errors.ts";
import { type Provider, REHEARSAL } from "./provider.ts";
import { deleteProvider, findProvider, insertProvider, listProviders, updateProvider } from "./provider.sql.ts";

const baseUrl = ProviderBody.shape.baseUrl.refine(
  isPlainUrl,
  "holds credentials, a query or a fragment: write the address alone, the key goes by keyEnv",
);
const CreateBody = ProviderBody.extend({ baseUrl });
const ChangeBody = CreateBody.omit({ name: true })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "names nothing to change");
const Params = z.object({ name: z.string().regex(SLUG, "is a provider's name: a-z, 0-9 and -") });

export interface ProviderRoutesDeps {
  readonly db: Db;
  /** Tells whether a key is there; its value goes nowhere. */
  secret(name: string): string | undefined;
}

/** `/providers`: rows. */
export function providerRoutes({ db, secret }: ProviderRoutesDeps): Hono {
  const toView = (provider: Provider): object => ({
    ...provider,
    keySet: provider.keyEnv === null ? null : secret(provider.keyEnv) !== undefined,
  });
  return new Hono()
    .get("/providers", validate("query", PageQuery), async (c) => {
      const { after, limit } = c.req.valid("query");
      const rows = await listProviders(db, after ?? "", limit + 1);
      const items = rows.slice(0, limit);
      return c.json({ items: items.map(toView), next: rows.length > limit ? (items.at(-1)?.name ?? null) : null });
    })
    .post("/providers", validate("json", CreateBody), async (c) => c.json(toView(await addProvider(db, c.req.valid("json"))), 201))
    .get("/providers/:name", validate("param", Params), async (c) => c.json(toView(await getProvider(db, c.req.valid("param").name))))
    .patch("/providers/:name", validate("param", Params), validate("json", ChangeBody), async (c) =>
      c.json(toView(await changeProvider(db, c.req.valid("param").name, c.req.valid("json")))),
    )
    .delete("/providers/:name", validate("param", Params), async (c) => {
      await removeProvider(db, c.req.valid("param").name);
      return c.body(null, 204);
    });
}

async function addProvider(db: Db, input: ProviderInput): Promise<Provider> {
  const provider = { ...input, keyEnv: input.keyEnv ?? null, enabled: input.enabled ?? true };
  if (!(await insertProvider(db, provider)))
    throw new FactoryError("conflict", `provider ${input.name} exists: change it with \`harnais providers set ${input.name} …\``, {
      field: "name",
    });
  return provider;
}

async function getProvider(db: Db, name: string): Promise<Provider> {
  const provider = await findProvider(db, name);
  if (provider === undefined) throw notFound(name);
  return provider;
}

async function changeProvider(db: Db, name: string, change: z.infer<typeof ChangeBody>): Promise<Provider> {
  if (name === REHEARSAL && Object.keys(change).some((field) => field !== "enabled"))
    throw new FactoryError("conflict", "the rehearsal model runs inside the factory: only `enabled` can be changed");
  const defined: Partial<Omit<Provider, "name">> = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const provider = await updateProvider(db, name, defined);
  if (provider === undefined) throw notFound(name);
  return provider;
}

async function removeProvider(db: Db, name: string): Promise<void> {
  if (name === REHEARSAL)
    throw new FactoryError(
      "conflict",
      "the rehearsal model belongs to the factory: switch it off with `harnais providers set rehearsal --enabled false`",
    );
  if (!(await deleteProvider(db, name))) throw notFound(name);
}

function notFound(name: string): FactoryError {
  return new FactoryError("not-found", `no provider ${name}: \`harnais providers list\` shows them`);
}

/** Userinfo or a query may hold a secret: it would stand in the database. */
function isPlainUrl(text: string): boolean {
  // zod runs this also where the format is wrong already.
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}
