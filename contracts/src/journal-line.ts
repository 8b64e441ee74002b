import { z } from "zod";

/** Longest line a reader accepts; longer ones are skipped and counted. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Ids of lines by journal. */
export const EVENT_IDS = { hev: /^hev_[0-9a-f]{12}$/, evt: /^evt_[0-9a-f]{12}$/, bil: /^bil_[0-9a-f]{12}$/ } as const;

// The readers of harness and runner's lines are by hand (factory/src/trace/parse-line.ts): it is the path of a million lines.
// T1: a harness line has the keys event_id, ts, session_id, type, name and payload.

/** D2: one line of a runner's journal. `phase_id` is null for events of the run itself. */
export interface RunnerLine {
  event_id: string;
  ts: string;
  run_id: string;
  phase_id: string | null;
  type: string;
  name: string | null;
  payload: Record<string, unknown>;
}

/** D5: one line of a bill journal; an opening and a closing line are paired by `payload.id`. */
export const BillLineSchema = z.strictObject({
  event_id: z.string().regex(EVENT_IDS.bil, "an event id is bil_ and 12 hex digits"),
  ts: z.string(),
  session_id: z.string().nullable(),
  type: z.enum(["bill_open", "bill_close"]),
  name: z.string(),
  payload: z.record(z.string(), z.unknown()),
});
