import { resolve } from "node:path";
import { CreateRunBody } from "@harnais/contracts/api-bodies.ts";
import { defineCommand } from "citty";
import { z } from "zod";
import { loadConfig } from "../config.ts";
import { connectApi } from "./connect.ts";
import { followRun } from "./follow-run.ts";
import { parseInput } from "./parse-input.ts";
import { printOutcome } from "./print-outcome.ts";

export default defineCommand({
  meta: { name: "run", description: "Run one workflow here and now; no request, no server needed" },
  args: {
    workflow: { type: "positional", description: "prompt, change, or a file of the project's .harnais/workflows", required: true },
    input: { type: "positional", description: "what is asked", required: true },
    project: { type: "string", description: "a project's id or path (default: the working directory)" },
    agent: { type: "string", description: "pi, claude-code or codex" },
    model: { type: "string", description: "provider/id, e.g. rehearsal/demo" },
    json: { type: "boolean", description: "print the run's report as one JSON document" },
  },
  async run({ args }) {
    const body = parseInput(CreateRunBody, {
      workflow: args.workflow,
      input: args.input,
      project: toProject(args.project),
      agent: args.agent,
      model: args.model,
    });
    await using api = await connectApi(loadConfig(), { carriesOutRuns: true });
    const { runId } = await api.post("/api/runs", body, z.object({ runId: z.string() }));
    const followed = await followRun(api, runId, { onInterrupt: "cancel" });
    printOutcome(followed, { json: args.json === true });
  },
});

/** An id stays as it is; a path is made absolute here, the server has another working directory. */
export function toProject(project: string | undefined): string {
  if (project === undefined) return process.cwd();
  return /^[a-z0-9][a-z0-9-]*$/.test(project) ? project : resolve(project);
}
