import { FactoryError } from "../lib/errors.ts";
import { ingestInto } from "./ingest-traces.ts";
import type { IngestReport } from "./ingest-traces.ts";
import { listJournalFiles } from "./journal-files.ts";
import type { TraceSource } from "./load-run.ts";
import { type Mirror, openMirror } from "./mirror-schema.sql.ts";
import { createSqliteSource } from "./sqlite-source.ts";

/** The mirror of a data folder, brought up to date, as the readers use it. */
export interface OpenJournals extends Disposable {
  readonly mirror: Mirror;
  readonly source: TraceSource;
  readonly report: IngestReport;
  /** The runs of the mirror, newest first; never empty. */
  readonly runIds: readonly string[];
}

const MAX_RUNS = 100_000;

/**
 * Opens the mirror after bringing it up to date.
 * @throws no-journal, saying whether there is none or an empty one; storage
 */
export async function openJournals({ dataDir, dbFile }: { readonly dataDir: string; readonly dbFile: string }): Promise<OpenJournals> {
  const mirror = openMirror(dbFile);
  try {
    const report = await ingestInto(mirror, dataDir);
    const source = createSqliteSource(mirror);
    const runIds = await source.listRunIds(MAX_RUNS);
    if (runIds.length === 0) throw toNoJournal(dataDir);
    return { mirror, source, report, runIds, [Symbol.dispose]: () => mirror.close() };
  } catch (error) {
    mirror.close();
    throw error;
  }
}

function toNoJournal(dataDir: string): FactoryError {
  const isEmpty = listJournalFiles(dataDir).some((file) => file.kind === "run");
  const mend = 'start a run with `harnais run prompt "…"`, or name another data folder with HARNAIS_DATA_DIR';
  return new FactoryError(
    "no-journal",
    isEmpty ? `the journal in ${dataDir}/traces is empty: no run in it yet; ${mend}` : `no journal in ${dataDir}/traces; ${mend}`,
  );
}
