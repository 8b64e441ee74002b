import type { BillOutcome } from "@harnais/contracts/bill.ts";
import type { ServerResponse } from "node:http";
import type { CallEnd, CallUsage } from "./bill.ts";
import type { BillOpening } from "./bill-line.ts";
import { countOutputChars, readJsonFacts, readStreamFacts, type ResponseFacts } from "./chat-response.ts";
import { sendProxyError } from "./proxy-error.ts";
import type { RelayEnd } from "./relay.ts";
import type { ResponseRecord } from "./response-record.ts";

// From the end of a passage to its bill, and to what the client is told when no answer came.

export interface CallTimes {
  /** When the request's headers had arrived, and when it went up. `performance.now()`. */
  readonly arrivedAtMs: number;
  readonly sentAtMs: number;
  readonly endedAtMs: number;
}

const NO_FACTS: ResponseFacts = {
  ...{ responseId: null, modelAnswered: null, finishReason: null, usage: null },
  ...{ isFinished: false, isReadable: false, hasError: false },
};

/** Reads what a call came to from how it ended and what was seen of its answer. */
export function toCallEnd(end: RelayEnd, record: ResponseRecord, times: CallTimes): CallEnd {
  const isStream = end.contentType.includes("event-stream");
  const facts = record.sizeBytes === 0 ? NO_FACTS : isStream ? readStreamFacts(record) : readJsonFacts(record);
  return {
    outcome: toOutcome(end, facts, isStream),
    httpStatus: end.httpStatus,
    modelAnswered: facts.modelAnswered,
    finishReason: facts.finishReason,
    responseId: facts.responseId,
    responseBytes: record.sizeBytes,
    firstByteMs: end.firstByteAtMs === null ? null : end.firstByteAtMs - times.arrivedAtMs,
    upstreamMs: times.endedAtMs - times.sentAtMs,
    totalMs: times.endedAtMs - times.arrivedAtMs,
    usage: toCallUsage(end, facts, () => countOutputChars(record, isStream)),
  };
}

function toOutcome(end: RelayEnd, facts: ResponseFacts, isStream: boolean): BillOutcome {
  if (end.outcome === "unreachable") return "upstream-error";
  if (end.outcome !== "complete") return end.outcome;
  if (isRefusal(end) || facts.hasError) return "upstream-error";
  if (!facts.isReadable) return "not-json";
  // Without chunked encoding or a length a dead socket looks like an end: a whole stream says that it is done.
  return isStream && !facts.isFinished ? "upstream-cut" : "done";
}

function toCallUsage(end: RelayEnd, facts: ResponseFacts, outputChars: () => number): CallUsage {
  if (!end.wasSent || isRefusal(end)) return { type: "refused" };
  if (facts.usage !== null) return { type: "provider", usage: facts.usage };
  return { type: "estimated", outputChars: outputChars() };
}

function isRefusal({ httpStatus }: RelayEnd): boolean {
  return httpStatus !== null && httpStatus >= 300;
}

/**
 * Answers 502 when nothing went up, so that a status always means that nothing was spent. A call that went up and got
 * no answer ends as it would without us: the connection breaks.
 */
export function answerUnreachable(
  response: ServerResponse,
  { bill, end, origin }: { bill: BillOpening; end: RelayEnd; origin: string },
): void {
  if (end.outcome !== "unreachable") return;
  const message = `provider ${bill.provider} is unreachable at ${origin} (${end.errorCode ?? "no reason given"})`;
  sendProxyError(response, bill.id, { status: 502, code: "llm-upstream", message });
}
