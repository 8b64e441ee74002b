import { z } from "zod";

// X3: one model call through the proxy. snake_case: the payload of a bill line and the columns of `llm_calls`.

export const BILL_OUTCOMES = ["done", "upstream-error", "upstream-cut", "client-abort", "timeout", "not-json", "proxy-killed"] as const;
export type BillOutcome = (typeof BILL_OUTCOMES)[number];

export const COST_STATUSES = ["priced", "unpriced", "notional", "free", "estimated"] as const;
export type CostStatus = (typeof COST_STATUSES)[number];

const ms = z.number().nonnegative().nullable();
const tokens = z.number().int().nonnegative().nullable();

/** What is known when the request goes up. `id` is `<job_id>-c<seq>`. */
export const BillOpenSchema = z.object({
  id: z.string(),
  run_id: z.string().nullable(),
  phase_id: z.string().nullable(),
  /** Phase label; `''` is the unattributed slice. */
  label: z.string(),
  attempt: z.number().int().nullable(),
  session_id: z.string().nullable(),
  job_id: z.string(),
  seq: z.number().int(),
  agent: z.string().nullable(),
  provider: z.string(),
  model_asked: z.string(),
  dialect: z.string(),
  stream: z.boolean(),
  started_at: z.string(),
  message_count: z.number().int().nullable(),
  tool_count: z.number().int().nullable(),
  request_bytes: z.number().int(),
});
export type BillOpen = z.infer<typeof BillOpenSchema>;

/** The whole bill: the opening fields and the outcome. */
export const BillSchema = BillOpenSchema.extend({
  turn: z.number().int().nullable(),
  model_answered: z.string().nullable(),
  first_byte_ms: ms,
  upstream_ms: ms,
  overhead_ms: ms,
  total_ms: ms,
  http_status: z.number().int().nullable(),
  outcome: z.enum(BILL_OUTCOMES),
  /** The provider's word, null when unknown: never a faked "stop". */
  finish_reason: z.string().nullable(),
  input: tokens,
  cache_read: tokens,
  cache_write_5m: tokens,
  cache_write_1h: tokens,
  output: tokens,
  reasoning: tokens,
  usage_source: z.enum(["provider", "estimated"]).nullable(),
  cost_usd: z.number().nullable(),
  cost_status: z.enum(COST_STATUSES),
  price_version: z.string().nullable(),
  response_id: z.string().nullable(),
  response_bytes: z.number().int(),
});
export type Bill = z.infer<typeof BillSchema>;
