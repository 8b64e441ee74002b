import { PriceBody } from "@harnais/contracts/api-bodies.ts";
import { defineCommand } from "citty";
import { loadConfig } from "../config.ts";
import { connectApi } from "./connect.ts";
import { parseInput } from "./parse-input.ts";
import { fetchRows, printRow, printRows, RowSchema } from "./rows.ts";

const json = { type: "boolean", description: "print one JSON document" } as const;
const COLUMNS = ["provider", "model", "version", "validFrom", "input", "output", "cacheRead", "cacheWrite5m", "cacheWrite1h"];
const usd = (what: string) => ({ type: "string", description: `USD per million tokens: ${what}` }) as const;

const list = defineCommand({
  meta: { name: "list", description: "Price rows, USD per million tokens" },
  args: { json },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    printRows(await fetchRows(api, "/api/prices"), { columns: COLUMNS, json: args.json === true });
  },
});

const show = defineCommand({
  meta: { name: "show", description: "One price row" },
  args: { id: { type: "positional", description: "provider/model@version", required: true }, json },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    printRow(await api.get(`/api/prices/${encodeURIComponent(args.id)}`, RowSchema), { json: args.json === true });
  },
});

const add = defineCommand({
  meta: { name: "add", description: "Add a price row; rows never change, a new price is a new row" },
  args: {
    model: { type: "positional", description: "provider/model", required: true },
    input: usd("fresh input"),
    output: usd("output"),
    "cache-read": usd("cache reads, 0 where there are none"),
    "cache-write-5m": usd("cache writes kept 5 minutes, 0 where there are none"),
    "cache-write-1h": usd("cache writes kept 1 hour, 0 where there are none"),
    version: { type: "string", description: "name of the row (default: its date)" },
    "valid-from": { type: "string", description: "ISO 8601, e.g. 2026-12-01T00:00:00Z (default: now)" },
    json,
  },
  async run({ args }) {
    const slash = args.model.indexOf("/");
    const body = parseInput(PriceBody, {
      provider: slash < 0 ? args.model : args.model.slice(0, slash),
      model: slash < 0 ? undefined : args.model.slice(slash + 1),
      input: toNumber(args.input),
      output: toNumber(args.output),
      cacheRead: toNumber(args["cache-read"]),
      cacheWrite5m: toNumber(args["cache-write-5m"]),
      cacheWrite1h: toNumber(args["cache-write-1h"]),
      version: args.version,
      validFrom: args["valid-from"],
    });
    await using api = await connectApi(loadConfig());
    printRow(await api.post("/api/prices", body, RowSchema), { json: args.json === true });
  },
});

/** Left as it is when it is no number: the schema names the field. */
function toNumber(text: string | undefined): unknown {
  const value = Number(text);
  return text === undefined || text.trim() === "" || Number.isNaN(value) ? text : value;
}

export default defineCommand({
  meta: { name: "prices", description: "Price table: list, show, add" },
  subCommands: { list, show, add },
});
