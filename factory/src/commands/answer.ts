import { defineCommand } from "citty";
import { z } from "zod";
import { loadConfig } from "../config.ts";
import { connectApi } from "./connect.ts";

export default defineCommand({
  meta: { name: "answer", description: "Answer the question of a waiting run" },
  args: {
    runId: { type: "positional", description: "the run", required: true },
    text: { type: "positional", description: "the answer", required: true },
  },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    await api.post(`/api/runs/${encodeURIComponent(args.runId)}/answer`, { text: args.text }, z.unknown());
    process.stderr.write(`run ${args.runId} goes on\n`);
  },
});
