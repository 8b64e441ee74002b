import { isFinalRunStatus } from "@harnais/contracts/statuses.ts";
import { closeSync, openSync } from "node:fs";
import { type BillRecord, toBillRecord } from "./bill-columns.ts";
import { type JournalFile, listJournalFiles, toJournalFile } from "./journal-files.ts";
import type { Finding } from "./judge-call.ts";
import { selectRunBills, selectRunEvents, selectSessionEvents, type StoredEvent } from "./mirror-reads.sql.ts";
import type { Mirror } from "./mirror-schema.sql.ts";
import {
  type BillRow,
  type HarnessRow,
  type Parsed,
  parseBillLine,
  parseHarnessLine,
  parseRunnerLine,
  type RunnerRow,
} from "./parse-line.ts";
import { readLines } from "./read-lines.ts";
import type { RunTrace } from "./run-trace.ts";

// The journals are append-only: what the mirror has read must still be there, once, and unchanged.

export interface AuditOptions {
  readonly dataDir: string;
  readonly mirror: Mirror;
  readonly runs: readonly RunTrace[];
}

/** Compares the raw files of runs with their mirror; findings by run. Every one of them is unexplained. */
export function auditJournals({ dataDir, mirror, runs }: AuditOptions): ReadonlyMap<string, readonly Finding[]> {
  const bills = readBillLines(dataDir, new Set(runs.map((run) => run.runId)));
  return new Map(
    runs.map((run) => [
      run.runId,
      [
        ...auditEvents(toJournalFile(dataDir, "run", run.runId), selectRunEvents(mirror, run.runId), readRunEvents),
        ...run.phases
          .flatMap((phase) => phase.sessions)
          .flatMap((sessionId) =>
            auditEvents(toJournalFile(dataDir, "harness", sessionId), selectSessionEvents(mirror, sessionId), readSessionEvents),
          ),
        ...auditBills(bills.get(run.runId) ?? [], selectRunBills(mirror, run.runId), isFinalRunStatus(run.status)),
      ],
    ]),
  );
}

interface RawEvent extends StoredEvent {
  /** What may stand only once: a second line with another id that says the same is a double. */
  readonly onceKey: string | null;
}

function auditEvents(file: JournalFile, stored: readonly StoredEvent[], read: (file: JournalFile) => RawEvent[]): Finding[] {
  const raw = read(file);
  if (raw.length === 0 && stored.length > 0) return [toFinding(file, file.key, "the journal is gone or empty; the mirror still has it")];
  const byId = new Map(stored.map((event) => [event.eventId, event]));
  const findings: Finding[] = [];
  const ids = new Set<string>();
  const keys = new Set<string>();
  for (const event of raw) {
    const isDouble = ids.has(event.eventId) || (event.onceKey !== null && keys.has(event.onceKey));
    if (isDouble) findings.push(toFinding(file, nameEvent(event), `its line (${event.type ?? ""}) stands twice`));
    ids.add(event.eventId);
    if (event.onceKey !== null) keys.add(event.onceKey);
    const mirrored = byId.get(event.eventId);
    if (mirrored !== undefined && !isSameEvent(event, mirrored) && !isDouble)
      findings.push(toFinding(file, nameEvent(event), `its line (${event.type ?? ""}) was changed after it was mirrored`));
  }
  for (const event of stored)
    if (!ids.has(event.eventId))
      findings.push(toFinding(file, nameEvent(event), `its line (${event.type ?? ""}) was removed after it was mirrored`));
  return [...findings, ...checkEventCounts(file, raw)];
}

/** `session_shutdown` says how many lines its process wrote: also without an older mirror a line that is missing shows. */
function checkEventCounts(file: JournalFile, raw: readonly RawEvent[]): Finding[] {
  const findings: Finding[] = [];
  let count = 0;
  let isWhole = false;
  for (const event of raw) {
    if (event.type === "session_start" && event.name !== "reload") {
      count = 0;
      isWhole = true;
    }
    count++;
    if (event.type !== "session_shutdown" || event.name === "reload") continue;
    const said = readPayload(event)["events"];
    if (isWhole && typeof said === "number" && said !== count)
      findings.push(
        toFinding(file, event.owner, `its process wrote ${said} lines, ${count} are there (counted up to ${event.ts ?? "its end"})`),
      );
    isWhole = false;
  }
  return findings;
}

function readSessionEvents(file: JournalFile): RawEvent[] {
  return readRows(file, parseHarnessLine).map((row: HarnessRow): RawEvent => {
    const responseId = row.type === "assistant" ? row.payload["response_id"] : undefined;
    return { ...row, owner: row.sessionId, phaseId: null, onceKey: typeof responseId === "string" ? responseId : null };
  });
}

function readRunEvents(file: JournalFile): RawEvent[] {
  return readRows(file, parseRunnerLine).map((row: RunnerRow): RawEvent => {
    const attempt = row.type === "phase_attempt" ? JSON.stringify(readPayload(row)["attempt"]) : undefined;
    return { ...row, owner: row.runId, onceKey: attempt === undefined ? null : `${row.phaseId ?? ""} attempt ${attempt}` };
  });
}

interface RawBill extends BillRow {
  readonly file: JournalFile;
}

function readBillLines(dataDir: string, runIds: ReadonlySet<string>): ReadonlyMap<string, readonly RawBill[]> {
  const lines = listJournalFiles(dataDir)
    .filter((file) => file.kind === "bill")
    .flatMap((file) => readRows(file, parseBillLine).map((row) => ({ ...row, file })))
    .filter((row) => runIds.has(String(row.payload["run_id"])));
  return Map.groupBy(lines, (row) => String(row.payload["run_id"]));
}

function auditBills(lines: readonly RawBill[], stored: readonly BillRecord[], isRunOver: boolean): Finding[] {
  const findings: Finding[] = [];
  const byId = new Map(stored.map((bill) => [String(bill["id"]), bill]));
  for (const [id, ofBill] of Map.groupBy(lines, (line) => line.id)) {
    const mirrored = byId.get(id);
    for (const type of ["bill_open", "bill_close"] as const) {
      const ofType = dropRecoveredTwice(ofBill.filter((line) => line.type === type));
      const [first, second] = ofType;
      const where = first?.file ?? ofBill[0]?.file;
      if (where === undefined) continue;
      if (first === undefined && (isRunOver || type === "bill_open")) findings.push(toFinding(where, id, `its ${type} line is missing`));
      if (second !== undefined) findings.push(toFinding(second.file, id, `its ${type} line stands twice`));
      if (first !== undefined && mirrored !== undefined && !isSameBill(toBillRecord(first), mirrored, type))
        findings.push(toFinding(first.file, id, `its ${type} line was changed after it was mirrored`));
    }
  }
  const known = new Set(lines.map((line) => line.id));
  for (const id of byId.keys())
    if (!known.has(id))
      findings.push({
        isExplained: false,
        call: id,
        cause: "its lines were removed from traces/bills after they were mirrored",
        amountUsd: null,
      });
  return findings;
}

/** Two recoveries at one moment write the same closing line with the same id: it counts once (llm-proxy/recover-bills.ts). */
function dropRecoveredTwice(lines: readonly RawBill[]): readonly RawBill[] {
  const [first] = lines;
  return lines.filter((line) => line === first || line.eventId !== first?.eventId || line.payload["outcome"] !== "proxy-killed");
}

function isSameBill(line: BillRecord, mirrored: BillRecord, type: BillRow["type"]): boolean {
  const isOpening = type === "bill_open";
  return Object.entries(line).every(
    ([column, value]) => (isOpening && value === null) || toComparable(value) === toComparable(mirrored[column] ?? null),
  );
}

const toComparable = (value: BillRecord[string]): string | number | null => (typeof value === "boolean" ? Number(value) : value);

function isSameEvent(a: StoredEvent, b: StoredEvent): boolean {
  return (
    a.owner === b.owner &&
    a.phaseId === b.phaseId &&
    a.type === b.type &&
    a.name === b.name &&
    a.ts === b.ts &&
    a.payloadJson === b.payloadJson
  );
}

/** The call that an event is about, if any: a response id, an attempt of a phase; else the event's own id. */
function nameEvent(event: StoredEvent): string {
  const payload = readPayload(event);
  if (typeof payload["response_id"] === "string") return payload["response_id"];
  if (event.type === "phase_attempt") return `attempt ${String(payload["attempt"])} of ${event.phaseId ?? ""}`;
  return event.phaseId === null ? event.eventId : `${event.phaseId} ${event.eventId}`;
}

function readPayload({ payloadJson }: Pick<StoredEvent, "payloadJson">): Record<string, unknown> {
  const payload: unknown = JSON.parse(payloadJson);
  return typeof payload === "object" && payload !== null ? (payload as Record<string, unknown>) : {};
}

function readRows<Row>(file: JournalFile, parse: (text: string | null) => Parsed<Row>): Row[] {
  let descriptor: number;
  try {
    descriptor = openSync(file.path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  try {
    const rows: Row[] = [];
    for (const line of readLines(descriptor, 0)) {
      const parsed = parse(line.text);
      if ("row" in parsed) rows.push(parsed.row);
    }
    return rows;
  } finally {
    closeSync(descriptor);
  }
}

function toFinding(file: JournalFile, call: string, cause: string): Finding {
  return { isExplained: false, call, cause, amountUsd: null, file: file.key };
}
