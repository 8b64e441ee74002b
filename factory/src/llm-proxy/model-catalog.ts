import { parseModelId } from "@harnais/contracts/model-id.ts";
import type { Logger } from "pino";
import { FactoryError } from "../lib/errors.ts";
import type { ModelRows } from "./model-rows.ts";
import { REHEARSAL_PRICE_VERSION, toPrice } from "./price.ts";
import { type Provider, REHEARSAL, SERVED_DIALECTS } from "./provider.ts";
import type { ModelCatalog, ModelInfo, ModelScope } from "./proxy-port.ts";
import { type RehearsalServer, toScopedUrl } from "./rehearsal/rehearsal-server.ts";
import type { ScenarioBook } from "./rehearsal/scenario-book.ts";

// No table holds the sizes of a provider's models: small enough that a CLI compacts before today's providers refuse.
const DEFAULT_CONTEXT_WINDOW = 128_000;
const DEFAULT_MAX_OUTPUT_TOKENS = 32_768;

/** A model and the way to it. */
export interface ModelRoute {
  readonly info: ModelInfo;
  readonly dialect: Provider["dialect"];
  /** Of the provider, without a slash at the end. */
  readonly baseUrl: string;
  readonly keyEnv: string | null;
}

export interface RoutedCatalog extends ModelCatalog {
  /** @throws unknown-provider, unknown-model, bad-scenario; database-unreachable when no last known answer serves. */
  route(provider: string, model: string, scope?: ModelScope): Promise<ModelRoute>;
}

export interface CatalogParts {
  readonly rows: ModelRows;
  readonly scenarios: ScenarioBook;
  readonly rehearsal: RehearsalServer;
  readonly log: Logger;
}

/** Looks models up; while the database is away the last known answer serves. */
export function createModelCatalog(parts: CatalogParts): RoutedCatalog {
  const lastKnown = new Map<string, ModelRoute>();

  async function route(provider: string, model: string, scope?: ModelScope): Promise<ModelRoute> {
    if (provider === REHEARSAL) return routeToRehearsal(parts, model, scope);
    const key = `${provider}/${model}`;
    try {
      const found = await routeToProvider(parts.rows, provider, model);
      lastKnown.set(key, found);
      return found;
    } catch (error) {
      const known = lastKnown.get(key);
      if (known === undefined || !isAway(error)) throw error;
      parts.log.warn({ model: key, err: error }, "the database is away: going on with the last known provider and price");
      return known;
    }
  }

  return {
    route,
    async find(model, scope) {
      const split = parseModelId(model);
      if (split === undefined)
        throw new FactoryError("unknown-model", `model "${model}": write provider/id, e.g. rehearsal/demo`, { field: "model" });
      return (await route(split.provider, split.model, scope)).info;
    },
  };
}

async function routeToRehearsal({ rows, scenarios, rehearsal }: CatalogParts, name: string, scope?: ModelScope): Promise<ModelRoute> {
  const scenario = scenarios.find(name, scope);
  const row = await rows.findProvider(REHEARSAL).catch(() => undefined);
  if (row?.enabled === false) throw disabled(REHEARSAL);
  const price = scenario.price === null ? null : toPrice(scenario.price);
  return {
    info: {
      provider: REHEARSAL,
      model: name,
      price,
      priceVersion: price === null ? null : REHEARSAL_PRICE_VERSION,
      rehearsal: true,
      contextWindow: scenario.contextWindow,
      maxOutputTokens: scenario.maxOutputTokens,
    },
    dialect: "chat-completions",
    baseUrl: toScopedUrl(await rehearsal.start(), scope),
    keyEnv: null,
  };
}

async function routeToProvider(rows: ModelRows, name: string, model: string): Promise<ModelRoute> {
  const provider = await lookUp(() => rows.findProvider(name));
  if (provider === undefined)
    throw new FactoryError(
      "unknown-provider",
      `no provider "${name}": see \`harnais providers list\`, add one with \`harnais providers add\``,
      {
        field: "model",
      },
    );
  if (!SERVED_DIALECTS.includes(provider.dialect))
    throw new FactoryError(
      "unknown-provider",
      `provider ${name} speaks ${provider.dialect}, which is not served yet: add a provider with a chat-completions address`,
      { field: "model" },
    );
  if (!provider.enabled) throw disabled(name);
  const price = await lookUp(() => rows.findPrice(name, model));
  return {
    info: {
      provider: name,
      model,
      price: price === undefined ? null : toPrice(price),
      priceVersion: price?.version ?? null,
      rehearsal: false,
      contextWindow: DEFAULT_CONTEXT_WINDOW,
      maxOutputTokens: DEFAULT_MAX_OUTPUT_TOKENS,
    },
    dialect: provider.dialect,
    baseUrl: provider.baseUrl.replace(/\/+$/, ""),
    keyEnv: provider.keyEnv,
  };
}

function disabled(name: string): FactoryError {
  return new FactoryError("unknown-provider", `provider ${name} is switched off: \`harnais providers set ${name} --enabled true\``, {
    field: "model",
  });
}

/** @throws database-unreachable, whatever the driver threw. */
async function lookUp<Row>(query: () => Promise<Row>): Promise<Row> {
  try {
    return await query();
  } catch (error) {
    throw new FactoryError("database-unreachable", "the factory cannot look up the model now: try again", { cause: error });
  }
}

function isAway(error: unknown): boolean {
  return error instanceof FactoryError && error.code === "database-unreachable";
}
