import { z } from "zod";

/** Longest line a reader accepts; longer ones are skipped and counted. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** ISO 8601 UTC with milliseconds. */
export const TimestampSchema = z.iso.datetime({ precision: 3 });
export const PayloadSchema = z.record(z.string(), z.unknown());

const eventId = (prefix: string): z.ZodString =>
  z.string().regex(new RegExp(`^${prefix}_[0-9a-f]{12}$`), `an event id is ${prefix}_ and 12 hex digits`);

/** T1: one line of a harness trace, exactly these six keys. Unknown types are kept. */
export const HarnessLineSchema = z.strictObject({
  event_id: eventId("hev"),
  ts: z.string(),
  session_id: z.string().min(1),
  type: z.string(),
  name: z.string().nullable(),
  payload: PayloadSchema,
});
export type HarnessLine = z.infer<typeof HarnessLineSchema>;

/** D2: one line of a runner's journal. `phase_id` is null for events of the run itself. */
export const RunnerLineSchema = z.strictObject({
  event_id: eventId("evt"),
  ts: z.string(),
  run_id: z.string().min(1),
  phase_id: z.string().nullable(),
  type: z.string(),
  name: z.string().nullable(),
  payload: PayloadSchema,
});
export type RunnerLine = z.infer<typeof RunnerLineSchema>;

/** D5: one line of a bill journal; an opening and a closing line are paired by `payload.id`. */
export const BillLineSchema = z.strictObject({
  event_id: eventId("bil"),
  ts: z.string(),
  session_id: z.string().nullable(),
  type: z.enum(["bill_open", "bill_close"]),
  name: z.string(),
  payload: PayloadSchema,
});
export type BillLine = z.infer<typeof BillLineSchema>;
