import { ProviderBody } from "@harnais/contracts/api-bodies.ts";
import { defineCommand } from "citty";
import { loadConfig } from "../config.ts";
import { connectApi } from "./connect.ts";
import { parseInput } from "./parse-input.ts";
import { fetchRows, printRow, printRows, RowSchema } from "./rows.ts";

const json = { type: "boolean", description: "print one JSON document" } as const;
const name = { type: "positional", description: "the provider", required: true } as const;
const fields = {
  dialect: { type: "string", description: "chat-completions, responses or messages" },
  "base-url": { type: "string", description: "where its API is, e.g. https://host/v1" },
  "key-env": { type: "string", description: "NAME of the environment variable that holds its key" },
  enabled: { type: "string", description: "true or false" },
} as const;
const COLUMNS = ["name", "dialect", "baseUrl", "keyEnv", "keySet", "enabled"];

const toPath = (provider: string): string => `/api/providers/${encodeURIComponent(provider)}`;

/** The fields as the API's body; `--enabled` is a word on the command line. */
function toBody(args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const enabled = args["enabled"] === "true" ? true : args["enabled"] === "false" ? false : args["enabled"];
  return { dialect: args["dialect"], baseUrl: args["base-url"], keyEnv: args["key-env"], enabled };
}

const list = defineCommand({
  meta: { name: "list", description: "Providers" },
  args: { json },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    printRows(await fetchRows(api, "/api/providers"), { columns: COLUMNS, json: args.json === true });
  },
});

const show = defineCommand({
  meta: { name: "show", description: "One provider" },
  args: { name, json },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    printRow(await api.get(toPath(args.name), RowSchema), { json: args.json === true });
  },
});

const add = defineCommand({
  meta: { name: "add", description: "Add a provider" },
  args: { name, ...fields, json },
  async run({ args }) {
    const body = parseInput(ProviderBody, { name: args.name, ...toBody(args) });
    await using api = await connectApi(loadConfig());
    printRow(await api.post("/api/providers", body, RowSchema), { json: args.json === true });
  },
});

const set = defineCommand({
  meta: { name: "set", description: "Change a provider" },
  args: { name, ...fields, json },
  async run({ args }) {
    const body = parseInput(ProviderBody.omit({ name: true }).partial(), toBody(args));
    await using api = await connectApi(loadConfig());
    printRow(await api.patch(toPath(args.name), body, RowSchema), { json: args.json === true });
  },
});

const remove = defineCommand({
  meta: { name: "remove", description: "Remove a provider" },
  args: { name },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    await api.delete(toPath(args.name));
  },
});

export default defineCommand({
  meta: { name: "providers", description: "Model providers: list, show, add, set, remove" },
  subCommands: { list, show, add, set, remove },
});
