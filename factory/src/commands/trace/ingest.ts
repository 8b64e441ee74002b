import { defineCommand } from "citty";
import { loadConfig } from "../../config.ts";
import { ingestTraces } from "../../trace/ingest-traces.ts";
import { toMirrorFile } from "../../trace/mirror-file.ts";
import { reportIngest } from "./report-ingest.ts";

export default defineCommand({
  meta: { name: "ingest", description: "Bring the SQLite mirror up to date from the raw files" },
  args: {
    quiet: { type: "boolean", description: "print nothing" },
    db: { type: "string", description: "another SQLite file than <data>/factory.db", valueHint: "FILE" },
    json: { type: "boolean", description: "print one JSON document" },
  },
  async run({ args }) {
    const { dataDir } = loadConfig();
    const dbFile = toMirrorFile(dataDir, args.db);
    const report = await ingestTraces({ dataDir, dbFile });
    if (args.quiet === true) return;
    reportIngest(report);
    if (args.json === true) process.stdout.write(`${JSON.stringify({ dbFile, ...report })}\n`);
    else process.stdout.write(`${report.harnessEvents} harness events mirrored into ${dbFile}\n`);
  },
});
