import { formatUsd } from "@harnais/contracts/money.ts";
import type { RunTrace, TracePhase } from "./run-trace.ts";
import { splitAttempts } from "./split-attempts.ts";
import { type Money, sumMoney } from "./sum-money.ts";

export interface PhaseSummary {
  readonly phaseId: string;
  readonly name: string;
  readonly kind: "agent" | "code";
  readonly status: string;
  /** Null: no harness trace. */
  readonly harness: (Money & { readonly turns: number; readonly tools: number }) | null;
  readonly runner: Money;
}

/** `trace last`: a run with two figures for the money of each phase. */
export interface RunSummary extends Money {
  readonly runId: string;
  readonly workflow: string;
  readonly status: string;
  readonly rehearsal: boolean;
  readonly phases: readonly PhaseSummary[];
}

export function summarizeRun(run: RunTrace): RunSummary {
  const { runId, workflow, status, rehearsal, costUsd, costComplete, tokens } = run;
  return { runId, workflow, status, rehearsal, costUsd, costComplete, tokens, phases: run.phases.map(summarizePhase) };
}

function summarizePhase(phase: TracePhase): PhaseSummary {
  const attempts = splitAttempts(phase);
  const sum = (figure: "turns" | "tools"): number => attempts.reduce((total, attempt) => total + attempt[figure], 0);
  const money = sumMoney(attempts.flatMap((attempt) => attempt.calls));
  const { phaseId, name, kind, status, costUsd, costComplete, tokens } = phase;
  const harness = phase.harness.length === 0 ? null : { ...money, turns: sum("turns"), tools: sum("tools") };
  return { phaseId, name, kind, status, harness, runner: { costUsd, costComplete, tokens } };
}

/** The lines that `trace last` prints. */
export function printSummary(summary: RunSummary): string[] {
  const width = Math.max(...summary.phases.map((phase) => phase.name.length), 0);
  return [
    `run ${summary.runId} (${summary.workflow}) — ${summary.status} — ${toMoney(summary, "runner", summary.rehearsal)}`,
    ...summary.phases.map((phase) => `${phase.phaseId.slice(-2)} ${phase.name.padEnd(width)}  ${toFigures(phase, summary.rehearsal)}`),
  ];
}

function toFigures({ kind, harness, runner }: PhaseSummary, rehearsal: boolean): string {
  if (kind === "code") return "code   code phase";
  const counted = toMoney(runner, "runner", rehearsal);
  if (harness === null) return `agent  no harness trace (session never started? probe not loaded?) / ${counted}`;
  const activity = `${harness.turns} turns, ${harness.tools} tools, ${harness.tokens ?? "unknown"} tokens`;
  return `agent  ${activity}, ${toMoney(harness, "harness", rehearsal)} / ${counted}`;
}

function toMoney({ costUsd, costComplete }: Money, book: string, rehearsal: boolean): string {
  return formatUsd(costUsd, { complete: costComplete, source: rehearsal ? `${book}, rehearsal` : book });
}
