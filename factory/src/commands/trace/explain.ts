import { defineCommand } from "citty";
import { loadConfig } from "../../config.ts";
import { loadRun } from "../../trace/load-run.ts";
import { toMirrorFile } from "../../trace/mirror-file.ts";
import { openJournals } from "../../trace/open-journals.ts";
import { explainRun, printExplanation } from "../../trace/report-explain.ts";
import { requireRun } from "../../trace/require-run.ts";
import { reportIngest } from "./report-ingest.ts";

export default defineCommand({
  meta: { name: "explain", description: "Where the money of a run went: per phase, attempt and turn" },
  args: {
    run_id: { type: "positional", description: "the run", required: true },
    db: { type: "string", description: "another SQLite file than <data>/factory.db", valueHint: "FILE" },
    json: { type: "boolean", description: "print one JSON document" },
  },
  async run({ args }) {
    const { dataDir } = loadConfig();
    using journals = await openJournals({ dataDir, dbFile: toMirrorFile(dataDir, args.db) });
    reportIngest(journals.report);
    const explanation = explainRun(requireRun(await loadRun(journals.source, args.run_id), args.run_id));
    process.stdout.write(args.json === true ? `${JSON.stringify(explanation)}\n` : `${printExplanation(explanation).join("\n")}\n`);
  },
});
