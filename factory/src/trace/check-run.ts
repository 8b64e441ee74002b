import type { CountedCall } from "@harnais/contracts/runner-event.ts";
import { isFinalRunStatus } from "@harnais/contracts/statuses.ts";
import { type JoinedCall, joinCalls, TOLERANCE_USD } from "./join-calls.ts";
import { type Finding, judgeCall } from "./judge-call.ts";
import type { RunTrace, TraceAttempt, TraceBill, TracePhase } from "./run-trace.ts";
import { splitAttempts } from "./split-attempts.ts";
import { type Money, sumUsd } from "./sum-money.ts";

/** The three books of one attempt, or of the factory's own calls in it. */
export interface BookCheck {
  readonly attempt: number;
  readonly label: string;
  readonly status: string;
  readonly isFactory: boolean;
  readonly calls: number;
  readonly harness: BookTotal;
  readonly proxy: BookTotal;
  readonly runner: BookTotal;
  readonly findings: readonly Finding[];
}

/** What one book comes to: null when nothing is known, not complete when a part is not. */
export interface BookTotal extends Pick<Money, "costUsd" | "costComplete"> {
  readonly calls: number;
}

export interface PhaseCheck {
  readonly phaseId: string;
  readonly name: string;
  readonly kind: "agent" | "code";
  readonly books: readonly BookCheck[];
}

export interface RunCheck {
  readonly runId: string;
  readonly workflow: string;
  readonly status: string;
  readonly rehearsal: boolean;
  readonly phases: readonly PhaseCheck[];
  /** Of the run as a whole: sums that do not add up, bills that no phase claims, journals that were changed. */
  readonly findings: readonly Finding[];
}

const MAX_LISTED_GAPS = 100;

/** Compares the three books of a run, call by call. Pure: what the raw files say is checked apart (audit-journals.ts). */
export function checkRun(run: RunTrace): RunCheck {
  const isRunOver = isFinalRunStatus(run.status);
  const phases = run.phases.map((phase) => checkPhase(phase, isRunOver));
  const agentPhases = run.phases.filter((phase) => phase.kind === "agent");
  const findings = [
    ...run.strayBills.map((bill) => toStrayFinding(bill)),
    ...findSeqGaps([...run.phases.flatMap((phase) => phase.bills), ...run.strayBills]),
    ...(isRunOver ? checkSum(run, agentPhases, `the total of run ${run.runId}`) : []),
  ];
  const { runId, workflow, status, rehearsal } = run;
  return { runId, workflow, status, rehearsal, phases, findings };
}

function checkPhase(phase: TracePhase, isRunOver: boolean): PhaseCheck {
  const traces = splitAttempts(phase);
  const numbers = new Set([
    ...phase.attempts.map(({ attempt }) => attempt),
    ...traces.map(({ attempt }) => attempt),
    ...phase.bills.map(({ attempt }) => attempt ?? 0),
  ]);
  const books: BookCheck[] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const attempt = phase.attempts.find((candidate) => candidate.attempt === number) ?? toUnknownAttempt(number);
    const bills = phase.bills.filter((bill) => (bill.attempt ?? 0) === number);
    const harness = traces.find((trace) => trace.attempt === number)?.calls ?? [];
    const own = {
      harness,
      bills: bills.filter((bill) => !isFactoryBill(bill)),
      runner: attempt.calls.filter((call) => call.kind !== "factory"),
    };
    const factory = { harness: [], bills: bills.filter(isFactoryBill), runner: attempt.calls.filter((call) => call.kind === "factory") };
    if (phase.kind === "agent" || own.bills.length + own.harness.length > 0)
      books.push(checkBooks(own, { attempt, phase, isRunOver, isFactory: false }));
    if (factory.bills.length + factory.runner.length > 0) books.push(checkBooks(factory, { attempt, phase, isRunOver, isFactory: true }));
  }
  return { phaseId: phase.phaseId, name: phase.name, kind: phase.kind, books };
}

interface BookContext {
  readonly attempt: TraceAttempt;
  readonly phase: TracePhase;
  readonly isRunOver: boolean;
  readonly isFactory: boolean;
}

function checkBooks(books: Parameters<typeof joinCalls>[0], context: BookContext): BookCheck {
  const { attempt, phase, isRunOver, isFactory } = context;
  const joined = joinCalls(books);
  const lastSettled = joined.findLastIndex((call) => isComplete(call, isFactory));
  const findings = joined.flatMap((call, index) => judgeCall(call, { attempt, isRunOver, isFactory, isLast: index > lastSettled }) ?? []);
  return {
    ...{ attempt: attempt.attempt, label: attempt.label, status: attempt.status, isFactory, calls: joined.length },
    ...{ harness: toTotal(books.harness), proxy: toTotal(books.bills), runner: toTotal(books.runner) },
    findings: isFactory ? findings : [...findings, ...checkAttempt(phase, attempt, isRunOver)],
  };
}

function toTotal(calls: readonly { readonly cost_usd: number | null }[]): BookTotal {
  return { calls: calls.length, ...sumUsd(calls.map((call) => call.cost_usd)) };
}

/** Every book has it to its end. */
function isComplete({ bills, harness, runner }: JoinedCall, isFactory: boolean): boolean {
  const isCounted = runner.length > 0 && runner.every((call) => call.kind !== "unseen");
  return bills.length > 0 && isCounted && (isFactory || harness.length > 0);
}

function checkAttempt(phase: TracePhase, attempt: TraceAttempt, isRunOver: boolean): Finding[] {
  const name = `attempt ${attempt.attempt} of ${phase.phaseId} (${phase.name})`;
  if (attempt.status === "running") {
    const cause = "its end (phase_attempt) is not in the runner's journal";
    return isRunOver ? [{ isExplained: false, call: name, cause, runnerUsd: undefined, amountUsd: null }] : [];
  }
  const isLast = phase.attempts.at(-1)?.attempt === attempt.attempt;
  const ended = phase.attempts.filter((candidate) => candidate.status !== "running");
  return [
    // An attempt that a crash of ours interrupted was not counted call by call.
    ...(attempt.status === "interrupted" && attempt.calls.length === 0
      ? []
      : checkSum(attempt, attempt.calls.map(toMoney), `the total of ${name}`)),
    ...(isLast && phase.status !== "running" && phase.kind === "agent"
      ? checkSum(phase, ended, `the total of ${phase.phaseId} (${phase.name})`)
      : []),
  ];
}

/** The runner's own sums must add up: a total that was changed is a difference like any other. */
function checkSum(total: Pick<Money, "costUsd">, parts: readonly Pick<Money, "costUsd">[], name: string): Finding[] {
  const sum = sumUsd(parts.map((part) => part.costUsd)).costUsd;
  if (sum === total.costUsd || (sum !== null && total.costUsd !== null && Math.abs(sum - total.costUsd) <= TOLERANCE_USD)) return [];
  const amountUsd = sum === null || total.costUsd === null ? null : sumUsd([Math.abs(sum - total.costUsd)]).costUsd;
  return [
    {
      isExplained: false,
      call: name,
      cause: `the runner says ${total.costUsd ?? "unknown"} USD, its parts add up to ${sum ?? "unknown"} USD`,
      amountUsd,
    },
  ];
}

const toMoney = (call: CountedCall): Pick<Money, "costUsd"> => ({ costUsd: call.cost_usd });

function toStrayFinding(bill: TraceBill): Finding {
  return {
    isExplained: false,
    call: bill.id,
    cause: "the proxy's bill names no phase that the runner knows",
    proxyUsd: bill.cost_usd,
    amountUsd: bill.cost_usd,
  };
}

/** Bills are numbered per job from 1: a number that is not there is a bill that is lost. */
function findSeqGaps(bills: readonly TraceBill[]): Finding[] {
  return [...Map.groupBy(bills, (bill) => bill.job_id)].flatMap(([jobId, ofJob]) => {
    const numbers = new Set(ofJob.map((bill) => bill.seq));
    const last = Math.max(...numbers);
    const missing: number[] = [];
    for (let seq = 1; seq < last && missing.length < MAX_LISTED_GAPS; seq++) if (!numbers.has(seq)) missing.push(seq);
    return missing.map((seq) => ({
      isExplained: false,
      call: `${jobId}-c${seq}`,
      cause: "its bill is missing: the job's later calls are there",
      amountUsd: null,
    }));
  });
}

/** An attempt that only the other books know. */
function toUnknownAttempt(attempt: number): TraceAttempt {
  const nothing = {
    sessionId: null,
    cause: null,
    error: null,
    durationMs: null,
    costUsd: null,
    costComplete: true,
    tokens: null,
    calls: [],
  };
  return { attempt, label: "", status: "running", ...nothing };
}

const isFactoryBill = (bill: TraceBill): boolean => bill.job_id.endsWith("-f");
