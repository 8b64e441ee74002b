import { defineCommand } from "citty";
import { loadConfig } from "../../config.ts";
import { checkBooks } from "../../trace/check-books.ts";
import { findOrphans } from "../../trace/find-orphans.ts";
import { toMirrorFile } from "../../trace/mirror-file.ts";
import { openJournals } from "../../trace/open-journals.ts";
import { countFindings, printCheck, printFinding, toVerdict } from "../../trace/print-check.ts";
import { reportIngest } from "./report-ingest.ts";

export default defineCommand({
  meta: {
    name: "check",
    description: "Compare what the harness, the proxy and the runner say of each call; exit 1 for an unexplained difference",
  },
  args: {
    run_id: { type: "positional", description: "one run (default: all)", required: false },
    db: { type: "string", description: "another SQLite file than <data>/factory.db", valueHint: "FILE" },
    json: { type: "boolean", description: "print one JSON document" },
  },
  async run({ args }) {
    const { dataDir } = loadConfig();
    using journals = await openJournals({ dataDir, dbFile: toMirrorFile(dataDir, args.db) });
    reportIngest(journals.report);
    const runs = await checkBooks({
      dataDir,
      mirror: journals.mirror,
      source: journals.source,
      runIds: args.run_id === undefined ? journals.runIds : [args.run_id],
    });
    // Spent by nobody that is known is still spent: said whenever all runs are checked.
    const orphans = args.run_id === undefined ? findOrphans(journals.mirror) : [];
    const counted = countFindings(runs);
    const totals = { ...counted, unexplained: counted.unexplained + orphans.length };
    if (args.json === true) process.stdout.write(`${JSON.stringify({ ...totals, runs, orphans })}\n`);
    else {
      for (const run of runs) process.stdout.write(`${printCheck(run).join("\n")}\n`);
      for (const orphan of orphans) process.stdout.write(`${printFinding(orphan)}\n`);
      if (runs.length + orphans.length > 1) process.stdout.write(`${runs.length} runs: ${toVerdict(totals)}\n`);
    }
    if (totals.unexplained > 0) process.exitCode = 1;
  },
});
