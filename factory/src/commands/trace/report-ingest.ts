import type { IngestReport } from "../../trace/ingest-traces.ts";

const MAX_LISTED = 10;

/** What an ingest left out or found strange, for people, on stderr. */
export function reportIngest(report: IngestReport): void {
  const skipped = report.skipped["not-json"] + report.skipped["bad-id"] + report.skipped["too-long"];
  if (skipped > 0)
    warn(
      `${skipped} lines skipped: ${report.skipped["not-json"]} not JSON, ${report.skipped["bad-id"]} without a well-formed id, ${report.skipped["too-long"]} longer than 16 MiB`,
    );
  for (const file of report.rewritten.slice(0, MAX_LISTED)) warn(`${file} was changed, not only appended to: read again from its start`);
  for (const { file, lineNo, eventId } of report.conflicts.slice(0, MAX_LISTED))
    warn(`${file}:${lineNo}: ${eventId} is known with other content; the mirror keeps the first`);
  if (report.conflicts.length > MAX_LISTED)
    warn(`and ${report.conflicts.length - MAX_LISTED} more lines whose id is known with other content`);
  for (const { file, reason } of report.unreadable) warn(`${file} cannot be read: ${reason}`);
}

const warn = (text: string): void => void process.stderr.write(`harnais: ${text}\n`);
