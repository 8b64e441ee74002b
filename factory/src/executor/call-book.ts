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

  const book = (kind: CountedCall["kind"], usage: CallUsage | null, facts: Pick<CountedCall, "response_id" | "stop_reason">): void => {
    const costNanoUsd = usage?.costNanoUsd ?? null;
    calls.push({
      kind,
      response_id: facts.response_id,
      label,
      tokens: usage?.totalTokens ?? null,
      cost_usd: costNanoUsd === null ? null : nanoToUsd(costNanoUsd),
      stop_reason: facts.stop_reason,
    });
  };
  const sum: CallBook["sum"] = () => ({
    tokens: sumTokens(calls.map((call) => call.tokens)),
    cost: sumCosts(calls.map((call) => (call.cost_usd === null ? null : usdToNano(call.cost_usd)))),
  });

  return {
    add(event) {
      switch (event.type) {
        case "turn_start":
          open.turn = true;
          turns++;
          break;
        case "assistant":
          open.turn = false;
          book("assistant", event.usage, { response_id: event.responseId, stop_reason: event.stopReason });
          break;
        case "compaction_start":
          open.compaction = true;
          break;
        case "compaction":
          open.compaction = false;
          book("compaction", event.usage, { response_id: null, stop_reason: event.failed ? "error" : null });
          break;
        case "tool_start":
          lastTool = event.tool;
          break;
        case "tool_end":
          tools++;
          break;
        case "session":
        case "final":
        case "noise":
          break;
      }
    },
    addFactoryCalls(made) {
      calls.push(...made);
    },
    close() {
      if (open.turn) book("unseen", null, { response_id: null, stop_reason: null });
      if (open.compaction) book("unseen", null, { response_id: null, stop_reason: null });
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
