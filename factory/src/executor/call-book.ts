import { nanoToUsd, sumCosts, sumTokens, type CostSum, usdToNano } from "@harnais/contracts/money.ts";
import type { CountedCall } from "@harnais/contracts/runner-event.ts";
import type { AgentEvent, CallUsage } from "../agents/agent-adapter.ts";
import type { JobProgress } from "./job.ts";

/** The runner's book of one attempt: its model calls, turns and tools as the CLI's stream shows them. */
export interface CallBook {
  add(event: AgentEvent): void;
  addFactoryCalls(calls: readonly CountedCall[]): void;
  /** The process is gone: calls that began and were not seen to end are booked as unknown. */
  close(): void;
  readonly turns: number;
  readonly calls: readonly CountedCall[];
  sum(): { readonly tokens: number | null; readonly cost: CostSum };
  toProgress(): JobProgress;
}

export function createCallBook(label: string): CallBook {
  const calls: CountedCall[] = [];
  const open = { turn: false, compaction: false };
  let turns = 0;
  let tools = 0;
  let lastTool: string | null = null;

  const sum: CallBook["sum"] = () => ({
    tokens: sumTokens(calls.map((call) => call.tokens)),
    cost: sumCosts(calls.map((call) => (call.cost_usd === null ? null : usdToNano(call.cost_usd)))),
  });

  return {
    add(event) {
      const call = toCall(event, label);
      if (call !== undefined) calls.push(call);
      if (event.type === "turn_start" || event.type === "assistant") open.turn = event.type === "turn_start";
      if (event.type === "compaction_start" || event.type === "compaction") open.compaction = event.type === "compaction_start";
      if (event.type === "turn_start") turns++;
      if (event.type === "tool_start") lastTool = event.tool;
      if (event.type === "tool_end") tools++;
    },
    addFactoryCalls(made) {
      calls.push(...made);
    },
    close() {
      for (const isOpen of Object.values(open)) if (isOpen) calls.push(unseenCall(label));
      open.turn = false;
      open.compaction = false;
    },
    get turns() {
      return turns;
    },
    calls,
    sum,
    toProgress: () => ({ lastTool, turns, tools, ...sum() }),
  };
}

function toCall(event: AgentEvent, label: string): CountedCall | undefined {
  if (event.type === "assistant")
    return { kind: "assistant", response_id: event.responseId, label, ...toBill(event.usage), stop_reason: event.stopReason };
  if (event.type === "compaction")
    return { kind: "compaction", response_id: null, label, ...toBill(event.usage), stop_reason: event.failed ? "error" : null };
  return undefined;
}

function toBill({ totalTokens, costNanoUsd }: CallUsage): Pick<CountedCall, "tokens" | "cost_usd"> {
  return { tokens: totalTokens, cost_usd: costNanoUsd === null ? null : nanoToUsd(costNanoUsd) };
}

const unseenCall = (label: string): CountedCall => ({
  kind: "unseen",
  response_id: null,
  label,
  tokens: null,
  cost_usd: null,
  stop_reason: null,
});
