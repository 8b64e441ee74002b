import { z } from "zod";

// Payloads of the harness trace by line type (T1). Readers parse with these; unknown further keys are kept out of sums.

const count = z.number().int().nonnegative();
const unknownable = count.nullable();

/** The bill part that `assistant` and `compaction` lines share; all null when the CLI could not know. */
export const HarnessBillSchema = z.object({
  input: unknownable,
  output: unknownable,
  cache_read: unknownable,
  cache_write: unknownable,
  total_tokens: unknownable,
  cost_usd: z.number().nullable(),
});
export type HarnessBill = z.infer<typeof HarnessBillSchema>;

export const AssistantPayloadSchema = HarnessBillSchema.extend({
  stop_reason: z.string().nullable(),
  tool_calls: count,
  chars: count.optional(),
  duration_ms: z.number().nullish(),
  response_id: z.string().nullish(),
  request_id: z.string().nullish(),
  /** Head of the CLI's error, when the call failed. */
  error: z.string().nullish(),
});

export const CompactionPayloadSchema = HarnessBillSchema.extend({
  tokens_before: unknownable.optional(),
  /** True when the compaction failed: its call was made, its bill is unknown to the CLI. */
  failed: z.boolean().optional(),
  error: z.string().nullish(),
});

export const SessionStartPayloadSchema = z.object({
  mode: z.string(),
  model: z.string().nullable(),
  cwd: z.string(),
  session_file: z.string().nullable(),
  attempt: z.number().int().nullable(),
  pid: z.number().int(),
  harness: z.string(),
  harness_version: z.string().nullable(),
});

/** The types that carry money. Totals lines (`agent_settled`, `session_shutdown`) are never summed. */
export const BILL_LINE_TYPES = ["assistant", "compaction"] as const;
