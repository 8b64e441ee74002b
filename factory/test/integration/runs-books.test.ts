import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { runCommandLine } from "./support/command-line.ts";
import { describeOnBases } from "./support/database.ts";
import { openFactory, readJsonl, type RunningFactory } from "./support/running-factory.ts";

// The whole way of a bill with the real pi: scenario → proxy → journal; pi → probe; pi's stream → runner.
// Sums worked out by hand, in nano-USD, from the scenarios' usage at 3 / 15 / 0.3 USD per million:
// input × 3000 + output × 15000 + cached × 300.
const RETRY = { first: 500 * 3000 + 10 * 15000, second: 600 * 3000 + 400 * 300 + 20 * 15000 };
const COMPACTS =
  2431 * 3000 +
  620 * 15000 + // first reads
  (12400 * 3000 + 2431 * 300 + 620 * 15000) + // second reads
  (24000 * 3000 + 166000 * 300 + 41 * 15000) + // what fills the context
  (24210 * 3000 + 96 * 15000) + // the compaction's own call
  (3140 * 3000 + 24 * 15000); // the answer
const PROSE_PLAN = { plan: 2548 * 3000 + 52 * 15000, repair: 864 * 3000 + 47 * 15000 };

const LIVE_RETRY = {
  name: "live-retry",
  price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 },
  rules: [
    { when: { user: "^The previous attempt failed" }, then: { text: "Now whole.", usage: { input: 600, cached: 400, output: 20 } } },
    { when: {}, then: { text: "Cut sh", finishReason: "length", usage: { input: 500, cached: 0, output: 10 } } },
  ],
};

interface Book {
  readonly attempt: number;
  readonly isFactory: boolean;
  readonly calls: number;
  readonly harness: { readonly costUsd: number | null };
  readonly proxy: { readonly costUsd: number | null };
  readonly runner: { readonly costUsd: number | null };
}

const usd = (nano: number): number => nano / 1e9;
const same = (nano: number, book: { attempt: number; calls: number }): object => ({
  ...book,
  isFactory: false,
  harness: { costUsd: usd(nano) },
  proxy: { costUsd: usd(nano) },
  runner: { costUsd: usd(nano) },
});

describeOnBases("the three books of a run", (test) => {
  let factory: RunningFactory;
  let scenarios: string;
  beforeAll(() => {
    scenarios = mkdtempSync(join(tmpdir(), "harnais-scenarios-"));
    writeFileSync(join(scenarios, "live-retry.yaml"), JSON.stringify(LIVE_RETRY));
  });
  afterAll(() => rmSync(scenarios, { recursive: true, force: true }));

  /** Books of a run by `trace check`, which must find nothing to explain. */
  async function booksOf(runId: string): Promise<Record<string, readonly Book[]>> {
    const env = { HARNAIS_DATA_DIR: factory.dataDir };
    const { exitCode, stdout } = await runCommandLine(["trace", "check", runId, "--json"], { cwd: factory.plume, env });
    const check = JSON.parse(stdout) as { explained: number; unexplained: number; runs: { phases: { name: string; books: Book[] }[] }[] };
    expect([exitCode, check.explained, check.unexplained]).toEqual([0, 0, 0]);
    return Object.fromEntries((check.runs[0]?.phases ?? []).map(({ name, books }) => [name, books]));
  }

  describe("with the real pi", () => {
    test("agree to the cent with a sum worked out by hand", async ({ testDatabase }) => {
      factory = await openFactory({ databaseUrl: testDatabase.databaseUrl, env: { HARNAIS_SCENARIOS: scenarios } });
      try {
        const before = readJsonl(join(factory.dataDir, "logs", "rehearsal.jsonl")).length;
        const retry = await factory.start({ workflow: "prompt", input: "Que fait ce projet ?", model: "rehearsal/live-retry" });
        expect(await factory.finished(retry)).toMatchObject({ status: "done", costUsd: usd(RETRY.first + RETRY.second) });
        const compacts = await factory.start({ workflow: "prompt", input: "Lis tout", model: "rehearsal/compacts" });
        expect(await factory.finished(compacts)).toMatchObject({ status: "done", costUsd: usd(COMPACTS), costComplete: true });
        const prose = await factory.start({ workflow: "change", input: "Note la demande", model: "rehearsal/prose-plan" });
        expect(await factory.finished(prose)).toMatchObject({ status: "done" });
        const unpriced = await factory.start({ workflow: "prompt", input: "Combien ?", model: "rehearsal/unpriced" });
        expect(await factory.finished(unpriced)).toMatchObject({ status: "done", costUsd: null, costComplete: false });

        expect((await booksOf(retry))["prompt"]).toMatchObject([
          same(RETRY.first, { attempt: 1, calls: 1 }),
          same(RETRY.second, { attempt: 2, calls: 1 }),
        ]);
        expect((await booksOf(compacts))["prompt"]).toMatchObject([same(COMPACTS, { attempt: 1, calls: 5 })]);
        expect((await booksOf(prose))["plan"]).toMatchObject([
          same(PROSE_PLAN.plan, { attempt: 1, calls: 1 }),
          {
            attempt: 1,
            isFactory: true,
            calls: 1,
            proxy: { costUsd: usd(PROSE_PLAN.repair) },
            runner: { costUsd: usd(PROSE_PLAN.repair) },
          },
        ]);
        const unknown = { costUsd: null };
        const nothingKnown = { harness: unknown, proxy: unknown, runner: unknown };
        expect((await booksOf(unpriced))["prompt"]).toMatchObject([{ attempt: 1, ...nothingKnown }]);

        expectEachCallOnce(factory, before);
        await expectMirrorsEqual(factory, [retry, compacts, prose, unpriced]);
      } finally {
        await factory.close();
      }
    });
  });
});

/** Calls counted by the model = bills opened = bills closed = assistant and compaction lines + the factory's own. */
function expectEachCallOnce(factory: RunningFactory, before: number): void {
  const rehearsed = readJsonl(join(factory.dataDir, "logs", "rehearsal.jsonl")).length - before;
  const day = new Date().toISOString().slice(0, 10);
  const bills = readJsonl<{ type: string; payload: { id: string } }>(join(factory.dataDir, "traces", "bills", `${day}.jsonl`));
  const opened = bills.filter(({ type }) => type === "bill_open").map(({ payload }) => payload.id);
  const closed = bills.filter(({ type }) => type === "bill_close").map(({ payload }) => payload.id);
  const mirror = new DatabaseSync(join(factory.dataDir, "factory.db"), { readOnly: true });
  const lines = mirror.prepare("SELECT COUNT(*) AS n FROM harness_by_phase WHERE type IN ('assistant', 'compaction')").get()?.["n"];
  mirror.close();
  const own = closed.filter((id) => id.includes("-f-c"));
  expect(opened.toSorted()).toEqual(closed.toSorted());
  expect([opened.length, new Set(opened).size, Number(lines) + own.length]).toEqual([rehearsed, rehearsed, rehearsed]);
}

/** The SQLite mirror's runs and phases hold what the engine's own rows hold. */
async function expectMirrorsEqual(factory: RunningFactory, runIds: readonly string[]): Promise<void> {
  const mirror = new DatabaseSync(join(factory.dataDir, "factory.db"), { readOnly: true });
  try {
    for (const runId of runIds) {
      const report = await factory.finished(runId);
      const run = mirror
        .prepare("SELECT adw_name, status, started_at, finished_at, cost_usd, tokens FROM runs WHERE adw_id = ?")
        .get(runId);
      expect({ ...run }).toEqual({
        adw_name: report.workflow,
        status: report.status,
        started_at: report.startedAt,
        finished_at: report.finishedAt,
        cost_usd: report.costUsd,
        tokens: report.tokens,
      });
      const phases = mirror.prepare(
        "SELECT phase_id, name, kind, status, attempts, cost_usd, tokens FROM phases WHERE adw_id = ? ORDER BY seq",
      );
      expect(phases.all(runId).map((row) => ({ ...row }))).toEqual(
        report.phases.map((phase) => ({
          phase_id: phase.phaseId,
          name: phase.name,
          kind: phase.kind,
          status: phase.status,
          attempts: phase.attempts.length,
          cost_usd: phase.costUsd,
          tokens: phase.tokens,
        })),
      );
    }
  } finally {
    mirror.close();
  }
}
