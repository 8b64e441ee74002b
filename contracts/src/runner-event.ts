import { z } from "zod";
import { CONFINEMENT_LEVELS, FAILURE_CAUSES, HARNESSES } from "./statuses.ts";

// D2: the runner's events. Readers get unknown further keys stripped; the writer is typed by the same schemas.

const usd = z.number().nullable();
const tokens = z.number().int().nonnegative().nullable();
const cause = z.enum(FAILURE_CAUSES).nullable();

/** One model call as the runner counted it from the CLI's own event stream (or made itself). */
export const CountedCallSchema = z.object({
  /** `assistant`, `compaction`: seen in the stream · `factory`: made by the factory itself · `unseen`: begun, its end never seen. */
  kind: z.enum(["assistant", "compaction", "factory", "unseen"]),
  response_id: z.string().nullable(),
  label: z.string(),
  tokens,
  cost_usd: usd,
  stop_reason: z.string().nullable(),
});
export type CountedCall = z.infer<typeof CountedCallSchema>;

const RUN_TOTALS = { cost_usd: usd, cost_complete: z.boolean().optional(), tokens };

export const RUNNER_PAYLOADS = {
  run_queued: z.object({ workflow: z.string(), input: z.string(), project: z.string(), request_id: z.string().nullable() }),
  run_start: z.object({
    adw_name: z.string(),
    /** First 500 characters of the input. */
    request: z.string(),
    project: z.string(),
    request_id: z.string().nullable(),
    level: z.enum(CONFINEMENT_LEVELS),
    rehearsal: z.boolean().optional(),
  }),
  phase_start: z.object({
    seq: z.number().int(),
    name: z.string(),
    kind: z.enum(["agent", "code"]),
    retries: z.number().int(),
    call_no: z.number().int().optional(),
  }),
  phase_session: z.object({ session_id: z.string(), attempt: z.number().int(), harness: z.enum(HARNESSES) }),
  attempt_start: z.object({ attempt: z.number().int(), label: z.string(), session_id: z.string().nullable() }),
  phase_attempt: z.object({
    attempt: z.number().int(),
    ok: z.boolean(),
    status: z.enum(["done", "failed", "cancelled", "interrupted"]),
    cause,
    error: z.string().nullable(),
    duration_ms: z.number().int().nullable(),
    ...RUN_TOTALS,
    label: z.string(),
    calls: z.array(CountedCallSchema).optional(),
    /** What a person should know of an attempt that is no failure, e.g. a red validation. */
    note: z.string().optional(),
    /** Commit that holds the worktree as this attempt left it. */
    checkpoint: z.string().optional(),
  }),
  phase_end: z.object({ status: z.enum(["done", "failed", "cancelled", "interrupted"]), attempts: z.number().int(), ...RUN_TOTALS }),
  phase_reopen: z.object({
    reason: z.string(),
    label: z.string(),
    /** The how-manieth correction of this label, of how many at most. */
    round: z.number().int().optional(),
    of: z.number().int().optional(),
  }),
  run_waiting: z.object({ reason: z.enum(["question", "ceiling", "trust", "approval"]), question: z.string().optional() }),
  run_resumed: z.object({ by: z.string(), answer: z.string().optional() }),
  run_finish: z.object({
    ok: z.boolean(),
    status: z.enum(["done", "failed", "cancelled"]),
    cause,
    ...RUN_TOTALS,
    /** Null when a crash hid the end. */
    duration_ms: z.number().int().nullable(),
    reason: z.string().nullable().optional(),
  }),
} as const;

export type RunnerEventType = keyof typeof RUNNER_PAYLOADS;
export type RunnerPayload<Type extends RunnerEventType> = z.infer<(typeof RUNNER_PAYLOADS)[Type]>;

/** A runner event before it has an id and a time; discriminated by `type`. */
export type RunnerEvent = {
  [Type in RunnerEventType]: {
    readonly type: Type;
    readonly phaseId: string | null;
    /** The workflow's name for run events, else the phase's. */
    readonly name: string;
    readonly payload: RunnerPayload<Type>;
  };
}[RunnerEventType];

export function isRunnerEventType(type: string): type is RunnerEventType {
  return Object.hasOwn(RUNNER_PAYLOADS, type);
}
