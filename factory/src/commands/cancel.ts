import { defineCommand } from "citty";
import { z } from "zod";
import { loadConfig } from "../config.ts";
import { connectApi } from "./connect.ts";

export default defineCommand({
  meta: { name: "cancel", description: "Cancel a run; its agents get SIGTERM" },
  args: {
    runId: { type: "positional", description: "the run", required: true },
    reason: { type: "string", description: "why" },
  },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    const body = args.reason === undefined ? {} : { reason: args.reason };
    await api.post(`/api/runs/${encodeURIComponent(args.runId)}/cancel`, body, z.unknown());
    process.stderr.write(`run ${args.runId} is being cancelled\n`);
  },
});
