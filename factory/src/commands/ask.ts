import { CreateRequestBody, RequestView } from "@harnais/contracts/api-bodies.ts";
import { defineCommand } from "citty";
import { z } from "zod";
import { loadConfig } from "../config.ts";
import { FactoryError } from "../lib/errors.ts";
import { connectApi } from "./connect.ts";
import { followRun } from "./follow-run.ts";
import { parseInput } from "./parse-input.ts";
import { printOutcome } from "./print-outcome.ts";
import { toProject } from "./run.ts";

export default defineCommand({
  meta: { name: "ask", description: "Put a request through the console door and follow it live" },
  args: {
    text: { type: "positional", description: "the request", required: true },
    scope: { type: "string", description: "whose request it is" },
    project: { type: "string", description: "a project's id or path (default: the working directory)" },
    intent: { type: "string", description: "run, question, …: skips classification" },
    detach: { type: "boolean", description: "do not follow; needs a server" },
    json: { type: "boolean", description: "print one JSON document" },
  },
  async run({ args }) {
    const body = parseInput(CreateRequestBody, {
      text: args.text,
      scope: args.scope,
      project: toProject(args.project),
      intent: args.intent,
    });
    await using api = await connectApi(loadConfig(), { carriesOutRuns: true });
    if (args.detach === true && api.isInProcess) {
      throw new FactoryError("server-unreachable", "--detach needs a server that goes on: start one with `harnais serve`");
    }
    const { requestId } = await api.post("/api/requests", body, z.object({ requestId: z.string() }));
    const request = await api.get(`/api/requests/${requestId}`, RequestView);
    process.stderr.write(`${requestId} ${request.status}${request.reason === null ? "" : ` — ${request.reason}`}\n`);
    if (args.detach === true || request.runId === null) {
      process.stdout.write(args.json === true ? `${JSON.stringify(request)}\n` : `${request.runId ?? requestId}\n`);
      process.exitCode = request.runId === null && request.status !== "archived" ? 1 : 0;
      return;
    }
    // In this process the run cannot go on without us: Ctrl-C ends it.
    const followed = await followRun(api, request.runId, { onInterrupt: api.isInProcess ? "cancel" : "leave" });
    if (followed.end === "interrupted") process.stderr.write(`harnais show ${request.runId}\n`);
    printOutcome(followed, { json: args.json === true });
  },
});
