import { RunReportSchema } from "@harnais/contracts/run-report.ts";
import { RUN_STATUSES } from "@harnais/contracts/statuses.ts";
import { defineCommand } from "citty";
import { z } from "zod";
import { loadConfig } from "../config.ts";
import { connectApi } from "./connect.ts";
import { parseInput } from "./parse-input.ts";
import { toRunLine } from "./print-run.ts";

const Page = z.object({ items: z.array(RunReportSchema), next: z.string().nullable() });
const Query = z.object({
  status: z.enum(RUN_STATUSES).optional(),
  limit: z.coerce.number().int().min(1).max(200).optional(),
  after: z.string().optional(),
});

export default defineCommand({
  meta: { name: "runs", description: "List runs, newest first" },
  args: {
    status: { type: "string", description: RUN_STATUSES.join(", ") },
    limit: { type: "string", description: "how many, at most 200 (default 50)" },
    after: { type: "string", description: "go on after this run" },
    json: { type: "boolean", description: "print one JSON document" },
  },
  async run({ args }) {
    const query = parseInput(Query, { status: args.status, limit: args.limit, after: args.after });
    await using api = await connectApi(loadConfig());
    const parameters = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]));
    const page = await api.get(`/api/runs?${parameters.toString()}`, Page);
    if (args.json === true) process.stdout.write(`${JSON.stringify(page)}\n`);
    else process.stdout.write(page.items.length === 0 ? "no runs\n" : page.items.map((report) => `${toRunLine(report)}\n`).join(""));
    if (page.next !== null && args.json !== true) process.stderr.write(`more: --after ${page.next}\n`);
  },
});
