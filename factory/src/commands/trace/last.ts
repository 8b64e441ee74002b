import { defineCommand } from "citty";
import { loadConfig } from "../../config.ts";
import { loadRun } from "../../trace/load-run.ts";
import { toMirrorFile } from "../../trace/mirror-file.ts";
import { openJournals } from "../../trace/open-journals.ts";
import { printSummary, summarizeRun } from "../../trace/report-last.ts";
import { requireRun } from "../../trace/require-run.ts";
import { reportIngest } from "./report-ingest.ts";

export default defineCommand({
  meta: { name: "last", description: "The newest run, phase by phase, with the harness's and the runner's figures" },
  args: {
    db: { type: "string", description: "another SQLite file than <data>/factory.db", valueHint: "FILE" },
    json: { type: "boolean", description: "print one JSON document" },
  },
  async run({ args }) {
    const { dataDir } = loadConfig();
    using journals = await openJournals({ dataDir, dbFile: toMirrorFile(dataDir, args.db) });
    reportIngest(journals.report);
    const summary = summarizeRun(requireRun(await loadRun(journals.source, journals.runIds[0] ?? ""), journals.runIds[0] ?? ""));
    process.stdout.write(args.json === true ? `${JSON.stringify(summary)}\n` : `${printSummary(summary).join("\n")}\n`);
  },
});
