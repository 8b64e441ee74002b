import { RunReportSchema } from "@harnais/contracts/run-report.ts";
import { defineCommand } from "citty";
import { loadConfig } from "../config.ts";
import { connectApi } from "./connect.ts";
import { toRunLines } from "./print-run.ts";
import { toPrintable } from "./printable.ts";

export default defineCommand({
  meta: { name: "show", description: "One run, phase by phase, attempt by attempt" },
  args: {
    runId: { type: "positional", description: "the run", required: true },
    json: { type: "boolean", description: "print one JSON document" },
  },
  async run({ args }) {
    await using api = await connectApi(loadConfig());
    const report = await api.get(`/api/runs/${encodeURIComponent(args.runId)}`, RunReportSchema);
    process.stdout.write(args.json === true ? `${JSON.stringify(report)}\n` : `${toPrintable(toRunLines(report).join("\n"))}\n`);
    if (args.json !== true && report.text !== undefined) process.stdout.write(`\n${toPrintable(report.text)}\n`);
  },
});
