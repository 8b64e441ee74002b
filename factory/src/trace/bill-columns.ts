import { BILL_OUTCOMES, COST_STATUSES } from "@harnais/contracts/bill.ts";
import { cleanText, type BillRow } from "./parse-line.ts";

// X3: the columns of `llm_calls`, in the order of the table; what a journal line says under another type is left null.

/** As PostgreSQL bounds them: a value beyond is not known, it must not cost the batch. */
type ColumnType = "text" | "outcome" | "cost-status" | "integer" | "bigint" | "real" | "money" | "boolean";

const OPENING = {
  id: "text",
  run_id: "text",
  phase_id: "text",
  label: "text",
  attempt: "integer",
  session_id: "text",
  job_id: "text",
  seq: "integer",
  turn: "integer",
  agent: "text",
  provider: "text",
  model_asked: "text",
  dialect: "text",
  stream: "boolean",
  started_at: "text",
  message_count: "integer",
  tool_count: "integer",
  request_bytes: "bigint",
} as const satisfies Record<string, ColumnType>;

const OUTCOME = {
  model_answered: "text",
  first_byte_ms: "real",
  upstream_ms: "real",
  overhead_ms: "real",
  total_ms: "real",
  http_status: "integer",
  outcome: "outcome",
  finish_reason: "text",
  input: "bigint",
  cache_read: "bigint",
  cache_write_5m: "bigint",
  cache_write_1h: "bigint",
  output: "bigint",
  reasoning: "bigint",
  usage_source: "text",
  cost_usd: "money",
  cost_status: "cost-status",
  price_version: "text",
  response_id: "text",
  response_bytes: "bigint",
} as const satisfies Record<string, ColumnType>;

const COLUMNS: Readonly<Record<string, ColumnType>> = { ...OPENING, ...OUTCOME };
export const BILL_COLUMNS: readonly string[] = Object.keys(COLUMNS);
/** Columns that the closing line brings. */
export const OUTCOME_COLUMNS: readonly string[] = Object.keys(OUTCOME);

export type BillValue = string | number | boolean | null;
/** One row of `llm_calls` by column name. */
export type BillRecord = Readonly<Record<string, BillValue>>;

/** The columns of one bill line; an opening line leaves the outcome null. */
export function toBillRecord({ type, id, payload }: BillRow): BillRecord {
  const record = Object.fromEntries(BILL_COLUMNS.map((column) => [column, toValue(payload[column], COLUMNS[column] ?? "text")]));
  if (type === "bill_open") for (const column of OUTCOME_COLUMNS) record[column] = null;
  // NOT NULL in PostgreSQL: a bill whose line lacks them is kept, not refused.
  for (const column of ["label", "job_id", "provider", "model_asked", "dialect"]) record[column] ??= "";
  return { ...record, id, seq: record["seq"] ?? 0, stream: record["stream"] ?? false };
}

/** First write wins: an outcome that is known stays. */
export function mergeBills(first: BillRecord | undefined, next: BillRecord): BillRecord {
  if (first === undefined) return next;
  if (first["outcome"] !== null || next["outcome"] === null) return first;
  return { ...first, ...Object.fromEntries(OUTCOME_COLUMNS.map((column) => [column, next[column] ?? null])) };
}

/** Words that PostgreSQL checks. */
const WORDS: Readonly<Record<"outcome" | "cost-status", ReadonlySet<unknown>>> = {
  outcome: new Set(BILL_OUTCOMES),
  "cost-status": new Set(COST_STATUSES),
};
const MAX_USD = 1_000_000; // numeric(15,9)
const MAX_INTEGER = 2_147_483_647;
const MAX_MS = 1e15;

function toValue(value: unknown, type: ColumnType): BillValue {
  switch (type) {
    case "text":
      return typeof value === "string" ? cleanText(value) : null;
    case "outcome":
    case "cost-status":
      return WORDS[type].has(value) ? (value as string) : null;
    case "integer":
      return Number.isSafeInteger(value) && Math.abs(value as number) <= MAX_INTEGER ? (value as number) : null;
    case "bigint":
      return Number.isSafeInteger(value) ? (value as number) : null;
    case "real":
      return typeof value === "number" && Math.abs(value) < MAX_MS ? value : null;
    case "money":
      return typeof value === "number" && Math.abs(value) < MAX_USD ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
  }
}
