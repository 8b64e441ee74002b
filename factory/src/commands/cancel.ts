import { RunReportSchema } from "@harnais/contracts/run-report.ts";
import { isFinalRunStatus } from "@harnais/contracts/statuses.ts";
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
    const path = `/api/runs/${encodeURIComponent(args.runId)}`;
    const { status } = await api.get(path, RunReportSchema);
    if (isFinalRunStatus(status)) {
      process.stderr.write(`run ${args.runId} has ended already: ${status}\n`);
      return;
    }
    const body = args.reason === undefined ? {} : { reason: args.reason };
    await api.post(`${path}/cancel`, body, z.unknown());
    process.stderr.write(`run ${args.runId} is being cancelled\n`);
  },
});
