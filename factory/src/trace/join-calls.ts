import type { CountedCall } from "@harnais/contracts/runner-event.ts";
import type { TraceBill } from "./run-trace.ts";
import type { HarnessCall } from "./split-attempts.ts";

// Joins the three books of one job call by call: by response or request id, the rest by what they cost and in their order.

/** One call (or the several that one compaction took) as each book has it. */
export interface JoinedCall {
  readonly bills: readonly TraceBill[];
  readonly harness: readonly HarnessCall[];
  readonly runner: readonly CountedCall[];
}

export interface Books {
  readonly harness: readonly HarnessCall[];
  readonly bills: readonly TraceBill[];
  readonly runner: readonly CountedCall[];
}

/** Smallest difference of money that counts, USD per call. */
export const TOLERANCE_USD = 1e-6;
// A compaction of a split turn takes two calls, and each may be tried again.
const MAX_CALLS_OF_A_LINE = 8;

export function joinCalls({ harness, bills, runner }: Books): readonly JoinedCall[] {
  const ofHarness = matchBills(harness.map(fromHarness), bills);
  const ofRunner = matchBills(runner.map(fromRunner), bills);
  const clusters = clusterBills(bills, [...ofHarness.values(), ...ofRunner.values()]);
  const joined = clusters.map((cluster) => ({
    bills: cluster,
    harness: harness.filter((_call, index) => ofHarness.get(index)?.some((bill) => cluster.includes(bill))),
    runner: runner.filter((_call, index) => ofRunner.get(index)?.some((bill) => cluster.includes(bill))),
  }));
  return [
    ...joined,
    ...joinWithoutBills(
      harness.filter((_call, index) => !ofHarness.has(index)),
      runner.filter((_call, index) => !ofRunner.has(index)),
    ),
  ];
}

/** A line of the harness's or the runner's book, as far as joining needs it. */
interface Line {
  readonly responseId: string | null;
  readonly requestId: string | null;
  readonly costUsd: number | null;
  /** Calls it stands for, when it says so. */
  readonly calls: number | null;
  /** True: only a compaction may stand for several calls. */
  readonly mayBeSeveral: boolean;
}

function fromHarness(call: HarnessCall): Line {
  const { responseId, requestId, cost_usd: costUsd, calls } = call;
  return { responseId, requestId, costUsd, calls, mayBeSeveral: call.kind === "compaction" };
}

function fromRunner(call: CountedCall): Line {
  return { responseId: call.response_id, requestId: null, costUsd: call.cost_usd, calls: null, mayBeSeveral: call.kind === "compaction" };
}

/** The bills of each line, by the line's index; a line that no bill fits has none. */
function matchBills(lines: readonly Line[], bills: readonly TraceBill[]): ReadonlyMap<number, readonly TraceBill[]> {
  const matches = new Map<number, readonly TraceBill[]>();
  const taken = new Set<TraceBill>();
  const take = (index: number, found: readonly TraceBill[]): void => {
    matches.set(index, found);
    for (const bill of found) taken.add(bill);
  };
  const free = (): TraceBill[] => bills.filter((bill) => !taken.has(bill));
  for (const [index, line] of lines.entries()) {
    const bill = free().find((candidate) => hasId(line, candidate));
    if (bill !== undefined) take(index, [bill]);
  }
  // Each pass is weaker evidence than the one before; all keep the order of both books.
  for (const fits of [findSameCost, findUnsettled, findNext]) {
    for (const [index, line] of lines.entries()) {
      if (matches.has(index)) continue;
      const found = fits(line, free());
      if (found !== undefined) take(index, found);
    }
  }
  return matches;
}

function hasId(line: Line, bill: TraceBill): boolean {
  return (line.responseId !== null && line.responseId === bill.response_id) || (line.requestId !== null && line.requestId === bill.id);
}

type Fits = (line: Line, free: readonly TraceBill[]) => readonly TraceBill[] | undefined;

const findSameCost: Fits = (line, free) => {
  if (line.responseId !== null || line.costUsd === null) return undefined;
  const most = line.mayBeSeveral ? (line.calls ?? MAX_CALLS_OF_A_LINE) : 1;
  for (let size = line.mayBeSeveral ? (line.calls ?? 1) : 1; size <= most; size++) {
    for (let start = 0; start + size <= free.length; start++) {
      const group = free.slice(start, start + size);
      const sum = sumOf(group);
      if (sum !== null && Math.abs(sum - line.costUsd) <= TOLERANCE_USD) return group;
    }
  }
  return undefined;
};

const findUnsettled: Fits = (line, free) => {
  if (line.costUsd !== null) return undefined;
  const open = free.filter((bill) => isUnsettled(bill) && (line.responseId === null || bill.response_id === null));
  return open.length === 0 ? undefined : open.slice(0, line.calls ?? 1);
};

const findNext: Fits = (line, free) => {
  if (line.responseId !== null || free.length === 0) return undefined;
  return free.slice(0, line.mayBeSeveral ? (line.calls ?? 1) : 1);
};

/** True: what the call cost is not the provider's word. */
export const isUnsettled = (bill: TraceBill): boolean =>
  bill.outcome !== "done" || bill.usage_source === "estimated" || bill.cost_usd === null;

function sumOf(bills: readonly TraceBill[]): number | null {
  return bills.reduce<number | null>((sum, bill) => (sum === null || bill.cost_usd === null ? null : sum + bill.cost_usd), 0);
}

/** Bills that any line takes together stay together. */
function clusterBills(bills: readonly TraceBill[], groups: readonly (readonly TraceBill[])[]): TraceBill[][] {
  const clusterOf = new Map(bills.map((bill) => [bill, [bill]]));
  for (const group of groups) {
    const merged = [...new Set(group.flatMap((bill) => clusterOf.get(bill) ?? [bill]))];
    for (const bill of merged) clusterOf.set(bill, merged);
  }
  return [...new Set(clusterOf.values())];
}

function joinWithoutBills(harness: readonly HarnessCall[], runner: readonly CountedCall[]): JoinedCall[] {
  const rest = [...runner];
  const joined = harness.map((call): JoinedCall => {
    const at = rest.findIndex((counted) =>
      call.responseId === null ? counted.response_id === null && counted.kind === call.kind : counted.response_id === call.responseId,
    );
    return { bills: [], harness: [call], runner: at === -1 ? [] : rest.splice(at, 1) };
  });
  return [...joined, ...rest.map((call): JoinedCall => ({ bills: [], harness: [], runner: [call] }))];
}
