import { isAbsolute, resolve } from "node:path";
import { ProjectBody } from "@harnais/contracts/api-bodies.ts";
import { defineCommand } from "citty";
import { loadConfig } from "../config.ts";
import { FactoryError } from "../lib/errors.ts";
import { connectApi } from "./connect.ts";
import { parseInput } from "./parse-input.ts";
import { fetchRows, printRow, printRows, RowSchema } from "./rows.ts";

const json = { type: "boolean", description: "print one JSON document" } as const;
const id = { type: "positional", description: "the project", required: true } as const;
const fields = {
  name: { type: "string", description: "how people call it; default the folder's name" },
  "base-branch": { type: "string", description: "branch that runs start from; default the one checked out" },
  validation: { type: "string", description: 'command that must pass, may be repeated; "" detects them again' },
  "validation-attempts": { type: "string", description: "corrections after a red validation, 0 to 10; default 3" },
  agent: { type: "string", description: "pi, claude-code or codex" },
  model: { type: "string", description: "provider/id, e.g. rehearsal/demo" },
  scope: { type: "string", description: "whose project it is" },
} as const;
const COLUMNS = ["id", "repo", "baseBranch", "validation", "agent", "model"];

const toPath = (project: string): string => `/api/projects/${encodeURIComponent(project)}`;

/** The fields as the API's body. */
function toBody(args: Readonly<Record<string, unknown>>, rawArgs: readonly string[]): Record<string, unknown> {
  const attempts = args["validation-attempts"];
  return {
    name: args["name"],
    baseBranch: args["base-branch"],
    validation: args["validation"] === undefined ? undefined : readRepeated(rawArgs, "--validation"),
    validationAttempts: typeof attempts === "string" && /^\d+$/.test(attempts) ? Number(attempts) : attempts,
    agent: args["agent"],
    model: args["model"],
    scope: args["scope"],
  };
}

/** Every value of an option that may be repeated (citty keeps the last one only); empty ones are left out. */
function readRepeated(rawArgs: readonly string[], option: string): string[] {
  const values = rawArgs.flatMap((arg, index) => {
    if (arg.startsWith(`${option}=`)) return [arg.slice(option.length + 1)];
    return arg === option ? [rawArgs[index + 1] ?? ""] : [];
  });
  return values.filter((value) => value.trim() !== "");
}

const list = defineCommand({
  meta: { name: "list", description: "Projects, with the validation commands that would run" },
  args: { json },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    printRows(await fetchRows(api, "/api/projects"), { columns: COLUMNS, json: args.json === true });
  },
});

const show = defineCommand({
  meta: { name: "show", description: "One project" },
  args: { id, json },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    printRow(await api.get(toPath(args.id), RowSchema), { json: args.json === true });
  },
});

const add = defineCommand({
  meta: { name: "add", description: "Add a project: a folder with a git repository" },
  args: {
    repo: { type: "string", description: "folder of the clone", required: true },
    id: { type: "string", description: "its id: a-z, 0-9 and -; default from the folder's name" },
    ...fields,
    json,
  },
  async run({ args, rawArgs }) {
    // The server may run elsewhere on this machine: it gets the path as seen from here.
    const repo = isAbsolute(args.repo) || args.repo.includes("://") ? args.repo : resolve(args.repo);
    const body = parseInput(ProjectBody, { repo, id: args.id, ...toBody(args, rawArgs) });
    await using api = await connectApi(loadConfig());
    printRow(await api.post("/api/projects", body, RowSchema), { json: args.json === true });
  },
});

const set = defineCommand({
  meta: { name: "set", description: "Change a project" },
  args: { id, ...fields, json },
  async run({ args, rawArgs }) {
    const body = parseInput(ProjectBody.omit({ id: true, repo: true }).partial(), toBody(args, rawArgs));
    await using api = await connectApi(loadConfig());
    printRow(await api.patch(toPath(args.id), body, RowSchema), { json: args.json === true });
  },
});

const remove = defineCommand({
  meta: { name: "remove", description: "Remove a project without runs; its repository stays as it is" },
  args: { id },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    await api.delete(toPath(args.id));
  },
});

const trust = defineCommand({
  meta: { name: "trust", description: "Trust the present content of a project's own workflow file" },
  args: { id, file: { type: "positional", description: "e.g. .harnais/workflows/release.ts", required: true }, json },
  async run({ args }) {
    // An agent has no terminal: what it writes, a person reads before it runs.
    if (!process.stdin.isTTY)
      throw new FactoryError("refused", "projects trust is a person's gesture: run it at a terminal, with the keyboard as its input");
    const body = { file: args.file.replace(/^\.\//, "") };
    await using api = await connectApi(loadConfig());
    printRow(await api.post(`${toPath(args.id)}/trust`, body, RowSchema), { json: args.json === true });
  },
});

export default defineCommand({
  meta: { name: "projects", description: "Projects: list, show, add, set, remove, trust" },
  subCommands: { list, show, add, set, remove, trust },
});
