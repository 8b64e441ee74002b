import { formatUsd, sumTokens } from "@harnais/contracts/money.ts";
import type { RunTrace, TracePhase } from "./run-trace.ts";
import { type HarnessCall, splitAttempts } from "./split-attempts.ts";
import { type Money, sumMoney, sumUsd } from "./sum-money.ts";

export interface TurnCost extends Money {
  readonly phaseId: string;
  readonly phase: string;
  readonly attempt: number;
  /** 0: before the first turn. */
  readonly turn: number;
  readonly head: string | null;
  /** Part of the run's money, 0 to 1; null when either is unknown. */
  readonly share: number | null;
}

export interface AttemptCost extends Money {
  readonly attempt: number;
  readonly label: string;
  readonly status: string;
  readonly share: number | null;
  readonly turns: readonly TurnCost[];
}

export interface PhaseCost extends Money {
  readonly phaseId: string;
  readonly name: string;
  readonly kind: "agent" | "code";
  readonly share: number | null;
  readonly attempts: readonly AttemptCost[];
}

/** `trace explain`: where the money of a run went. */
export interface Explanation extends Money {
  readonly runId: string;
  readonly workflow: string;
  readonly status: string;
  readonly rehearsal: boolean;
  readonly phases: readonly PhaseCost[];
  readonly costliestTurns: readonly TurnCost[];
}

const COSTLIEST = 3;

export function explainRun(run: RunTrace): Explanation {
  const share = (costUsd: number | null): number | null =>
    costUsd === null || run.costUsd === null || run.costUsd === 0 ? null : costUsd / run.costUsd;
  const phases = run.phases.map((phase) => explainPhase(phase, share));
  const turns = phases.flatMap((phase) => phase.attempts.flatMap((attempt) => attempt.turns));
  const { runId, workflow, status, rehearsal, costUsd, costComplete, tokens } = run;
  return {
    ...{ runId, workflow, status, rehearsal, costUsd, costComplete, tokens, phases },
    costliestTurns: turns
      .filter((turn) => (turn.costUsd ?? 0) > 0)
      .toSorted((a, b) => (b.costUsd ?? 0) - (a.costUsd ?? 0))
      .slice(0, COSTLIEST),
  };
}

type Share = (costUsd: number | null) => number | null;

function explainPhase(phase: TracePhase, share: Share): PhaseCost {
  const traces = splitAttempts(phase);
  const attempts = phase.attempts.map((attempt): AttemptCost => {
    const { costUsd, costComplete, tokens, label, status } = attempt;
    const calls = traces.find((trace) => trace.attempt === attempt.attempt)?.calls ?? [];
    const factory = attempt.calls.filter((call) => call.kind === "factory");
    const turns = [...Map.groupBy(calls, (call) => call.turn)].map(([turn, ofTurn]) =>
      toTurn(phase, { attempt: attempt.attempt, turn, calls: ofTurn }, share),
    );
    if (factory.length > 0) {
      const money = { ...sumUsd(factory.map((call) => call.cost_usd)), tokens: sumTokens(factory.map((call) => call.tokens)) };
      const head = `the factory's own call: ${[...new Set(factory.map((call) => call.label))].join(", ")}`;
      turns.push({
        ...{ phaseId: phase.phaseId, phase: phase.name, attempt: attempt.attempt, turn: 0, head },
        ...money,
        share: share(money.costUsd),
      });
    }
    return { attempt: attempt.attempt, label, status, costUsd, costComplete, tokens, share: share(costUsd), turns };
  });
  const { phaseId, name, kind, costUsd, costComplete, tokens } = phase;
  return { phaseId, name, kind, costUsd, costComplete, tokens, share: share(costUsd), attempts };
}

function toTurn(
  phase: TracePhase,
  { attempt, turn, calls }: { attempt: number; turn: number; calls: readonly HarnessCall[] },
  share: Share,
): TurnCost {
  const money = sumMoney(calls);
  const costliest = calls.toSorted((a, b) => (b.cost_usd ?? 0) - (a.cost_usd ?? 0))[0];
  return { phaseId: phase.phaseId, phase: phase.name, attempt, turn, head: costliest?.head ?? null, ...money, share: share(money.costUsd) };
}

/** The lines that `trace explain` prints. */
export function printExplanation(explanation: Explanation): string[] {
  const { rehearsal } = explanation;
  const lines = [
    `run ${explanation.runId} (${explanation.workflow}) — ${explanation.status} — ${toMoney(explanation, rehearsal, "runner")}`,
  ];
  for (const phase of explanation.phases) {
    const seq = phase.phaseId.slice(-2);
    if (phase.kind === "code") {
      lines.push(`${seq} ${phase.name}  code phase`);
      continue;
    }
    lines.push(`${seq} ${phase.name}  agent  ${toSum(phase, rehearsal)}`);
    for (const attempt of phase.attempts) {
      lines.push(`   attempt ${attempt.attempt} (${attempt.label}), ${attempt.status}: ${toSum(attempt, rehearsal)}`);
      for (const turn of attempt.turns) lines.push(`      ${toTurnName(turn)}: ${toSum(turn, rehearsal)}${toHeadText(turn)}`);
    }
  }
  if (explanation.costliestTurns.length === 0) return [...lines, "no turn with a known cost"];
  lines.push("the costliest turns:");
  for (const turn of explanation.costliestTurns)
    lines.push(`   ${toTurnName(turn)} of ${turn.phase}, attempt ${turn.attempt}: ${toSum(turn, rehearsal)}${toHeadText(turn)}`);
  return lines;
}

const toTurnName = (turn: TurnCost): string => (turn.turn === 0 ? "outside a turn" : `turn ${turn.turn}`);
const toHeadText = (turn: TurnCost): string => (turn.head === null ? "" : ` — ${turn.head.replace(/\s+/g, " ")}`);

function toSum(money: Money & { readonly share: number | null }, rehearsal: boolean): string {
  const share = money.share === null ? "" : `, ${Math.round(money.share * 100)} % of the run`;
  return `${money.tokens ?? "unknown"} tokens, ${toMoney(money, rehearsal)}${share}`;
}

function toMoney({ costUsd, costComplete }: Money, rehearsal: boolean, book?: string): string {
  const source = [...(book === undefined ? [] : [book]), ...(rehearsal ? ["rehearsal"] : [])].join(", ");
  return formatUsd(costUsd, { complete: costComplete, ...(source === "" ? {} : { source }) });
}
