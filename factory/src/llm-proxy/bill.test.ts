import { BillSchema } from "@harnais/contracts/bill.ts";
import { expect, test } from "vitest";
import { type CallEnd, toBill } from "./bill.ts";
import type { BillOpening } from "./bill-line.ts";

const OPENING: BillOpening = {
  ...{
    id: "j-c1",
    run_id: "a1b2c3d4",
    phase_id: null,
    label: "",
    attempt: null,
    session_id: null,
    job_id: "j",
    seq: 1,
    turn: 1,
    agent: null,
  },
  ...{ provider: "wire", model_asked: "m", dialect: "chat-completions", stream: false, started_at: "2026-01-02T03:04:05.006Z" },
  ...{ message_count: 1, tool_count: 0, request_bytes: 401, process: { pid: 1, started: null }, rehearsal: false, price_version: "v1" },
  price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 },
};
const USAGE = { input: 1000, output: 100, cacheRead: 200, cacheWrite5m: 40, cacheWrite1h: 8, reasoning: 30 };
const END: CallEnd = {
  ...{ outcome: "done", httpStatus: 200, modelAnswered: "m", finishReason: null, responseId: "r", responseBytes: 9 },
  ...{ firstByteMs: 1.23456, upstreamMs: 10, totalMs: 10.5, usage: { type: "provider", usage: USAGE } },
};

test("a bill is exact and holds the fields of the contract alone", () => {
  const bill = toBill(OPENING, END);
  expect(BillSchema.strict().parse(bill)).toEqual(bill);
  // 1000 x 3 + 200 x 0.3 + 40 x 3.75 + 8 x 6 + 100 x 15, per million
  expect(bill).toMatchObject({ cost_usd: 0.004758, cost_status: "priced", usage_source: "provider", finish_reason: null });
  expect(bill).toMatchObject({ first_byte_ms: 1.235, overhead_ms: 0.5, reasoning: 30 });
});

test.each([
  [{}, { type: "provider", usage: USAGE }, "priced", 0.004758],
  [{}, { type: "estimated", outputChars: 9 }, "estimated", 0.000348],
  [{}, { type: "refused" }, "free", 0],
  [{ rehearsal: true }, { type: "provider", usage: USAGE }, "notional", 0.004758],
  [{ rehearsal: true }, { type: "estimated", outputChars: 9 }, "notional", 0.000348],
  [{ rehearsal: true }, { type: "refused" }, "free", 0],
  [{ price: null }, { type: "provider", usage: USAGE }, "unpriced", null],
  [{ price: null }, { type: "estimated", outputChars: 9 }, "unpriced", null],
  [{ price: null }, { type: "refused" }, "free", 0],
] as const)("%j with usage %j is %s", (opening, usage, status, cost) => {
  expect(toBill({ ...OPENING, ...opening }, { ...END, usage })).toMatchObject({ cost_status: status, cost_usd: cost });
});

test("an estimate counts four characters a token, rounded up, and claims no more", () => {
  expect(toBill(OPENING, { ...END, usage: { type: "estimated", outputChars: 9 } })).toMatchObject({
    ...{ input: 101, output: 3, cache_read: 0, reasoning: null, usage_source: "estimated" },
  });
});
