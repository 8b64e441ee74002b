import type { JoinedCall } from "./join-calls.ts";
import { isUnsettled, TOLERANCE_USD } from "./join-calls.ts";
import type { TraceAttempt } from "./run-trace.ts";
import { sumUsd } from "./sum-money.ts";

/** A difference between the books, with the call that makes it. */
export interface Finding {
  readonly isExplained: boolean;
  /** A bill's id, else a response id, else an event's. */
  readonly call: string;
  readonly cause: string;
  /** Each book's figure; undefined: the book does not have the call; null: it has it, and does not know. */
  readonly harnessUsd?: number | null | undefined;
  readonly proxyUsd?: number | null | undefined;
  readonly runnerUsd?: number | null | undefined;
  readonly amountUsd: number | null;
  /** Journal in which something is wrong. */
  readonly file?: string;
}

/** What the judgement of a call rests on beside its figures. */
export interface CallContext {
  readonly attempt: Pick<TraceAttempt, "status" | "cause" | "calls">;
  /** False while the run goes on: a call under way has no bill yet. */
  readonly isRunOver: boolean;
  /** The factory's own calls have no harness book. */
  readonly isFactory: boolean;
  /** True: no book shows a later call of the attempt that was seen to its end. */
  readonly isLast: boolean;
}

const KILL_CAUSES: ReadonlySet<string> = new Set(["timeout", "idle-timeout", "cancelled", "crashed"]);

/** The difference that a call makes between the books, or undefined where they agree. */
export function judgeCall(joined: JoinedCall, context: CallContext): Finding | undefined {
  const figures = toFigures(joined, context);
  if (areEqual(figures)) return undefined;
  const explanation = explain(joined, figures, context);
  const { harnessUsd, proxyUsd, runnerUsd } = figures;
  return {
    isExplained: explanation !== undefined,
    call: nameCall(joined),
    cause: explanation ?? describeGap(joined, figures),
    ...{ harnessUsd, proxyUsd, runnerUsd },
    amountUsd: toAmount(figures),
  };
}

interface Figures {
  readonly harnessUsd: number | null | undefined;
  readonly proxyUsd: number | null | undefined;
  readonly runnerUsd: number | null | undefined;
}

function toFigures(
  { bills, harness, runner }: JoinedCall,
  { isFactory }: CallContext,
): Figures & { readonly isFactory: boolean; readonly count: number } {
  return {
    harnessUsd: harness.length === 0 ? undefined : total(harness.map((call) => call.cost_usd)),
    proxyUsd: bills.length === 0 ? undefined : total(bills.map((bill) => bill.cost_usd)),
    runnerUsd: runner.length === 0 ? undefined : total(runner.map((call) => call.cost_usd)),
    isFactory,
    count: Math.max(1, bills.length),
  };
}

/** Null as soon as one part is unknown: half a sum is not a figure to compare. */
const total = (costs: readonly (number | null)[]): number | null => (costs.includes(null) ? null : sumUsd(costs).costUsd);

function areEqual(figures: Figures & { readonly isFactory: boolean; readonly count: number }): boolean {
  const books = figures.isFactory ? [figures.proxyUsd, figures.runnerUsd] : [figures.harnessUsd, figures.proxyUsd, figures.runnerUsd];
  if (books.includes(undefined)) return false;
  const known = books.filter((usd) => usd !== null && usd !== undefined);
  if (known.length === 0) return true;
  return known.length === books.length && Math.max(...known) - Math.min(...known) <= TOLERANCE_USD * figures.count + Number.EPSILON;
}

/** The recorded cause of a difference; undefined when nothing recorded explains it. */
function explain(joined: JoinedCall, figures: Figures, context: CallContext): string | undefined {
  const { bills } = joined;
  // A bill that was opened and never closed is lost, whatever became of the process.
  if (bills.some((bill) => bill.outcome === null)) return context.isRunOver ? undefined : "the call is under way";
  if (bills.length === 0) return explainWithoutBill(joined);
  const said = [figures.harnessUsd, figures.runnerUsd].filter((usd) => usd !== undefined && usd !== null);
  const tolerance = TOLERANCE_USD * bills.length + Number.EPSILON;
  if (said.some((usd) => typeof figures.proxyUsd !== "number" || Math.abs(usd - figures.proxyUsd) > tolerance)) return undefined;
  const isMissing = figures.runnerUsd === undefined || (figures.harnessUsd === undefined && !context.isFactory);
  return isMissing ? explainMissing(joined, context) : explainUnknown(joined, context);
}

/** A book lacks the call: only the last one of a process that was ended may be unfinished. */
function explainMissing({ bills }: JoinedCall, { attempt, isRunOver, isLast }: CallContext): string | undefined {
  if (attempt.status === "running" && !isRunOver) return "the attempt goes on";
  return isKillRecorded(attempt) && (isLast || bills.some(isUnsettled)) ? `unfinished call: ${toKillCause(attempt)}` : undefined;
}

/** A book has the call and does not know what it cost, where the proxy does. */
function explainUnknown({ bills, harness, runner }: JoinedCall, { attempt }: CallContext): string | undefined {
  const isKilled = isKillRecorded(attempt);
  if (!isKilled && !bills.some(isUnsettled)) return undefined;
  if (runner.some((call) => call.kind === "unseen")) return isKilled ? `unfinished call: ${toKillCause(attempt)}` : undefined;
  if (harness.some((call) => call.failed)) return "a compaction failed: the CLI does not know what its calls cost";
  if (harness.some((call) => call.stopReason === "aborted")) return `aborted stream${isKilled ? `: ${toKillCause(attempt)}` : ""}`;
  const failed = harness.find((call) => call.stopReason === "error");
  if (failed !== undefined) return `the call failed in the CLI: ${failed.error ?? "no reason given"}`;
  return bills.some((bill) => bill.usage_source === "estimated") ? "the provider sent no usage: estimated by the proxy" : undefined;
}

/** A call that failed before any answer came may not have reached the proxy at all. */
function explainWithoutBill({ harness, runner }: JoinedCall): string | undefined {
  const failed = harness.filter(
    (call) =>
      call.responseId === null && call.requestId === null && (call.stopReason === "error" || call.stopReason === "aborted" || call.failed),
  );
  const isUnknown = [...harness, ...runner].every((call) => call.cost_usd === null);
  if (harness.length > 0 && failed.length === harness.length && isUnknown && runner.every((call) => call.response_id === null))
    return `no request reached the proxy: ${failed[0]?.error ?? failed[0]?.stopReason ?? "no reason given"}`;
  // The runner books a call at its turn's start; the process may have ended before it asked.
  return harness.length === 0 && runner.every((call) => call.kind === "unseen") ? "the process ended before the call was made" : undefined;
}

function isKillRecorded({ status, cause, calls }: CallContext["attempt"]): boolean {
  if (status === "cancelled" || status === "interrupted") return true;
  return status === "failed" && ((cause !== null && KILL_CAUSES.has(cause)) || calls.some((call) => call.kind === "unseen"));
}

function toKillCause({ status, cause }: CallContext["attempt"]): string {
  return `the attempt was ${status === "failed" ? `ended (${cause ?? "no cause"})` : status}`;
}

function describeGap({ bills, harness, runner }: JoinedCall, figures: Figures): string {
  if (bills.some((bill) => bill.outcome === null)) return "its bill was opened and never closed";
  if (figures.proxyUsd === undefined)
    return `the proxy has no bill of it (${harness.length > 0 ? "the harness has" : "the runner counted"} it)`;
  if (figures.harnessUsd === undefined && harness.length === 0 && runner.length > 0) return "the harness has no line of it";
  if (figures.runnerUsd === undefined && harness.length > 0) return "the runner did not count it";
  if (figures.harnessUsd === undefined) return "neither the harness nor the runner has it";
  return "the books differ";
}

function nameCall({ bills, harness, runner }: JoinedCall): string {
  if (bills.length > 0) return bills.map((bill) => bill.id).join(", ");
  const [call] = harness;
  return call?.responseId ?? call?.eventId ?? runner[0]?.response_id ?? "a call without id";
}

/** Largest difference; what a book lacks or does not know counts as nothing. */
function toAmount({ harnessUsd, proxyUsd, runnerUsd, isFactory }: Figures & { readonly isFactory: boolean }): number | null {
  const books = isFactory ? [proxyUsd, runnerUsd] : [harnessUsd, proxyUsd, runnerUsd];
  if (!books.some((usd) => typeof usd === "number")) return null;
  const values = books.map((usd) => usd ?? 0);
  return sumUsd([Math.max(...values), -Math.min(...values)]).costUsd;
}
