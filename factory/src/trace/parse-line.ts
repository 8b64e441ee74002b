import { RUN_ID, SESSION_ID } from "@harnais/contracts/ids.ts";
import { EVENT_IDS } from "@harnais/contracts/journal-line.ts";

// By hand, not by zod: this is the path of a million lines, and of a command that must start in a blink.

/** A harness line as both mirrors store it. */
export interface HarnessRow {
  readonly eventId: string;
  readonly sessionId: string;
  readonly type: string | null;
  readonly name: string | null;
  readonly payloadJson: string;
  readonly ts: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A runner's event as the SQLite mirror stores it. */
export interface RunnerRow {
  readonly eventId: string;
  readonly runId: string;
  readonly phaseId: string | null;
  readonly type: string | null;
  readonly name: string | null;
  readonly payloadJson: string;
  readonly ts: string | null;
}

export interface BillRow {
  readonly eventId: string;
  readonly type: "bill_open" | "bill_close";
  /** `<job_id>-c<seq>`. */
  readonly id: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export type SkipReason = "not-json" | "bad-id" | "too-long";
export type Parsed<Row> = { readonly row: Row } | { readonly skip: SkipReason };

const MAX_BILL_ID_CHARS = 200;

export function parseHarnessLine(text: string | null): Parsed<HarnessRow> {
  const parsed = parseObject(text);
  if ("skip" in parsed) return parsed;
  const { line, payloadJson } = parsed;
  const { event_id: eventId, session_id: sessionId } = line;
  if (!isMatch(eventId, EVENT_IDS.hev) || !isMatch(sessionId, SESSION_ID)) return { skip: "bad-id" };
  return { row: { eventId, sessionId, ...toCommon(line), payloadJson, payload: toRecord(line["payload"]) } };
}

export function parseRunnerLine(text: string | null): Parsed<RunnerRow> {
  const parsed = parseObject(text);
  if ("skip" in parsed) return parsed;
  const { line, payloadJson } = parsed;
  const { event_id: eventId, run_id: runId } = line;
  if (!isMatch(eventId, EVENT_IDS.evt) || !isMatch(runId, RUN_ID)) return { skip: "bad-id" };
  return { row: { eventId, runId, phaseId: toText(line["phase_id"]), ...toCommon(line), payloadJson } };
}

export function parseBillLine(text: string | null): Parsed<BillRow> {
  const parsed = parseObject(text);
  if ("skip" in parsed) return parsed;
  const { event_id: eventId, type } = parsed.line;
  const payload = toRecord(parsed.line["payload"]);
  const id = payload["id"];
  if (!isMatch(eventId, EVENT_IDS.bil) || typeof id !== "string" || id === "" || id.length > MAX_BILL_ID_CHARS) return { skip: "bad-id" };
  return type === "bill_open" || type === "bill_close" ? { row: { eventId, type, id: cleanText(id), payload } } : { skip: "bad-id" };
}

/** Text that SQLite and PostgreSQL both keep as it is: no NUL, no half of a surrogate pair. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

function parseObject(text: string | null): { line: Record<string, unknown>; payloadJson: string } | { skip: SkipReason } {
  if (text === null) return { skip: "too-long" };
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line !== "object" || line === null || Array.isArray(line)) return { skip: "not-json" };
    const record = line as Record<string, unknown>;
    // Nested too deep to be written again is as good as not JSON; JSON.stringify escapes NUL and lone surrogates.
    return { line: record, payloadJson: JSON.stringify(record["payload"] ?? {}) };
  } catch {
    return { skip: "not-json" };
  }
}

function toCommon(line: Record<string, unknown>): { type: string | null; name: string | null; ts: string | null } {
  return { type: toText(line["type"]), name: toText(line["name"]), ts: toText(line["ts"]) };
}

const isMatch = (value: unknown, pattern: RegExp): value is string => typeof value === "string" && pattern.test(value);
const toText = (value: unknown): string | null => (typeof value === "string" ? cleanText(value) : null);

function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
