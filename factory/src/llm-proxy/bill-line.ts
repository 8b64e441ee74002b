import { BillOpenSchema, type Bill } from "@harnais/contracts/bill.ts";
import { type EventId, createEventId } from "@harnais/contracts/ids.ts";
import { z } from "zod";

// D5: bills on disk. An opening line carries besides X3 what its recovery needs: whose process it was and the price.

const tariff = z.number().nonnegative();

export const BillOpeningSchema = BillOpenSchema.extend({
  turn: z.number().int().nullable(),
  /** The process that made the call: its pid and kernel start time (null where the system does not tell). */
  process: z.object({ pid: z.number().int().positive(), started: z.string().nullable() }),
  rehearsal: z.boolean(),
  price: z.object({ input: tariff, output: tariff, cacheRead: tariff, cacheWrite5m: tariff, cacheWrite1h: tariff }).nullable(),
  price_version: z.string().nullable(),
});
export type BillOpening = z.infer<typeof BillOpeningSchema>;

/** A line as it is written; what `BillLineSchema` reads. */
export interface WrittenBillLine {
  readonly event_id: EventId;
  readonly ts: string;
  readonly session_id: string | null;
  readonly type: "bill_open" | "bill_close";
  readonly name: string;
  readonly payload: Bill | BillOpening;
}

export function toBillLine(type: WrittenBillLine["type"], payload: Bill | BillOpening, at: Date): WrittenBillLine {
  return {
    event_id: createEventId("bil"),
    ts: at.toISOString(),
    session_id: payload.session_id,
    type,
    name: `${payload.provider}/${payload.model_asked}`,
    payload,
  };
}

/** UTC day of a bill file, `2026-11-29`. */
export const toUtcDay = (at: Date): string => at.toISOString().slice(0, 10);
