import type { RunnerLine } from "@harnais/contracts/journal-line.ts";
import type { foldRun } from "../runs/fold-run.ts";
import { messageOf } from "../lib/errors.ts";
import { toBillRecord } from "./bill-columns.ts";
import { type JournalFile, listJournalFiles } from "./journal-files.ts";
import { selectRunEvents, type StoredEvent } from "./mirror-reads.sql.ts";
import { type Mirror, openMirror, transact } from "./mirror-schema.sql.ts";
import { type MirrorWriter, prepareWriter, replaceRun, selectStates } from "./mirror-writes.sql.ts";
import { parseBillLine, parseHarnessLine, parseRunnerLine, type SkipReason } from "./parse-line.ts";
import { isUnchanged, type JournalLine, type JournalState, openReading } from "./read-journal.ts";

export interface IngestOptions {
  /** Holds `traces/`. */
  readonly dataDir: string;
  /** SQLite file; made when it is not there. */
  readonly dbFile: string;
}

/** A line whose id the mirror knows with other content; the mirror's stays. */
export interface LineConflict {
  readonly file: string;
  readonly lineNo: number;
  readonly eventId: string;
}

export interface IngestReport {
  /** New harness events: the N that the command prints. */
  harnessEvents: number;
  runnerEvents: number;
  filesRead: number;
  /** Journals that were changed, not only appended to: read again from their start. */
  rewritten: string[];
  skipped: Record<SkipReason, number>;
  conflicts: LineConflict[];
  /** Journals that could not be read, with the reason. */
  unreadable: { readonly file: string; readonly reason: string }[];
}

// How much one transaction takes on: small enough for a second ingest to wait for, large enough to be fast.
const LINES_PER_TRANSACTION = 20_000;
const MAX_LISTED_CONFLICTS = 100;

/**
 * Brings the SQLite mirror up to date from the raw files: reads only what is new, duplicates nothing, and leaves the mirror
 * whole wherever it is cut. Two at once follow each other.
 * @throws storage when the mirror cannot be written.
 */
export async function ingestTraces({ dataDir, dbFile }: IngestOptions): Promise<IngestReport> {
  const mirror = openMirror(dbFile);
  try {
    return await ingestInto(mirror, dataDir);
  } finally {
    mirror.close();
  }
}

/** The same into a mirror that is open. */
export async function ingestInto(mirror: Mirror, dataDir: string): Promise<IngestReport> {
  const report: IngestReport = {
    ...{ harnessEvents: 0, runnerEvents: 0, filesRead: 0, rewritten: [], conflicts: [], unreadable: [] },
    skipped: { "not-json": 0, "bad-id": 0, "too-long": 0 },
  };
  const states = selectStates(mirror);
  const changed = listJournalFiles(dataDir).filter((file) => !isUnchanged(file, states.get(file.key)));
  if (changed.length === 0) return report;
  // Folding needs the schemas of every event: not loaded when no run has anything new.
  const fold = changed.some((file) => file.kind === "run") ? (await import("../runs/fold-run.ts")).foldRun : undefined;
  const ingest: Ingest = { mirror, writer: prepareWriter(mirror), report, runIds: new Set(), refold: () => refoldRuns(ingest, fold) };
  ingestFiles(ingest, changed);
  return report;
}

type FoldRun = typeof foldRun;

interface Ingest {
  readonly mirror: Mirror;
  readonly writer: MirrorWriter;
  readonly report: IngestReport;
  /** Runs that got events in this transaction. */
  readonly runIds: Set<string>;
  refold(): void;
}

function ingestFiles(ingest: Ingest, files: readonly JournalFile[]): void {
  const queue = files.map((file): { file: JournalFile; isDone: boolean } => ({ file, isDone: false }));
  while (queue.some((entry) => !entry.isDone)) {
    transact(ingest.mirror, () => {
      let budget = LINES_PER_TRANSACTION;
      for (const entry of queue) {
        if (entry.isDone || budget <= 0) continue;
        const read = ingestFile(ingest, entry.file, budget);
        budget -= read.lines + 1;
        entry.isDone = read.isDone;
      }
      ingest.refold();
    });
  }
}

/** Up to `budget` lines of one journal; where it stands is read inside the transaction, and saved with its lines. */
function ingestFile(ingest: Ingest, file: JournalFile, budget: number): { lines: number; isDone: boolean } {
  const { writer, report } = ingest;
  let reading: ReturnType<typeof openReading>;
  try {
    reading = openReading(file, writer.findState(file.key));
  } catch (error) {
    report.unreadable.push({ file: file.path, reason: messageOf(error) });
    return { lines: 0, isDone: true };
  }
  try {
    if (reading.isRewritten) report.rewritten.push(file.path);
    let lines = 0;
    let isDone = true;
    for (const line of reading.lines) {
      if (line.text !== "") ingestLine(ingest, file, line);
      if (++lines >= budget) {
        isDone = !line.isTerminated;
        break;
      }
    }
    report.filesRead++;
    saveState(writer, reading.toState(), isDone);
    return { lines, isDone };
  } finally {
    reading.close();
  }
}

/** A file that is only partly read must not look unchanged to the next ingest, should this one be cut. */
function saveState(writer: MirrorWriter, state: JournalState, isDone: boolean): void {
  writer.saveState(isDone ? state : { ...state, sizeBytes: -1 });
}

function ingestLine(ingest: Ingest, file: JournalFile, line: JournalLine): void {
  const skip = storeLine(ingest, file, line);
  // A last line without line end may be torn: it is read again, and judged, when it is whole.
  if (skip !== undefined && line.isTerminated) ingest.report.skipped[skip]++;
}

function storeLine(ingest: Ingest, file: JournalFile, line: JournalLine): SkipReason | undefined {
  const { writer, report } = ingest;
  if (file.kind === "bill") {
    const parsed = parseBillLine(line.text);
    if ("skip" in parsed) return parsed.skip;
    writer.upsertBill(toBillRecord(parsed.row), parsed.row.type === "bill_open");
    return undefined;
  }
  const parsed = file.kind === "harness" ? parseHarnessLine(line.text) : parseRunnerLine(line.text);
  if ("skip" in parsed) return parsed.skip;
  const written = "runId" in parsed.row ? writer.insertRunner(parsed.row) : writer.insertHarness(parsed.row);
  if (written === "new" && "runId" in parsed.row) ingest.runIds.add(parsed.row.runId);
  if (written === "new") report[file.kind === "harness" ? "harnessEvents" : "runnerEvents"]++;
  if (written === "conflict" && report.conflicts.length < MAX_LISTED_CONFLICTS)
    report.conflicts.push({ file: file.path, lineNo: line.lineNo, eventId: parsed.row.eventId });
  return undefined;
}

function refoldRuns({ mirror, runIds }: Ingest, fold: FoldRun | undefined): void {
  for (const runId of runIds) {
    const folded = fold?.(selectRunEvents(mirror, runId).map(toRunnerLine));
    if (folded !== undefined) replaceRun(mirror, folded);
  }
  runIds.clear();
}

/** The line that an event of the mirror came from. */
export function toRunnerLine(event: StoredEvent): RunnerLine {
  return {
    event_id: event.eventId,
    ts: event.ts ?? "",
    run_id: event.owner,
    phase_id: event.phaseId,
    type: event.type ?? "",
    name: event.name,
    payload: JSON.parse(event.payloadJson) as Record<string, unknown>,
  };
}
