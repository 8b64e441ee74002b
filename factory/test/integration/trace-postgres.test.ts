import { appendFileSync } from "node:fs";
import type { Kysely } from "kysely";
import { sql } from "kysely";
import { afterEach, beforeEach, expect } from "vitest";
import type { Tables } from "../../src/db/tables.ts";
import { ingestTraces } from "../../src/trace/ingest-traces.ts";
import { loadRun } from "../../src/trace/load-run.ts";
import { createMirrors } from "../../src/trace/mirrors.ts";
import { mirrorToPostgres } from "../../src/trace/mirror-to-postgres.ts";
import { openJournals } from "../../src/trace/open-journals.ts";
import { createPostgresSource } from "../../src/trace/postgres-source.ts";
import { describeOnBases } from "./support/database.ts";
import { type Journals, openJournalsFolder, writeRun } from "./support/journals.ts";
import { query } from "./support/read-mirror.sql.ts";

let journals: Journals;
beforeEach(() => void (journals = openJournalsFolder()));
afterEach(() => journals.remove());

const CALLS = [
  { input: 1200, output: 50, end: "toolUse" },
  { kind: "compaction", input: 24_000, output: 100 },
  { input: 1400, output: 60 },
] as const;
const silent = { error: () => undefined } as never;

/** The engine's own rows of a run, from its journal: what the recorder stores. */
async function storeRun(db: Kysely<Tables>, runId: string): Promise<void> {
  await sql`insert into projects (id, name, repo, base_branch) values ('plume', 'plume', '/nowhere', 'main') on conflict do nothing`.execute(
    db,
  );
  await sql`insert into runs (run_id, project_id, workflow, input, status, started_at) values (${runId}, 'plume', 'prompt', 'What?', 'done', now())`.execute(
    db,
  );
  await sql`insert into phases (phase_id, run_id, seq, name, kind, status, started_at) values (${`${runId}-01`}, ${runId}, 1, 'prompt', 'agent', 'done', now())`.execute(
    db,
  );
  await sql`insert into sessions (session_id, phase_id, harness, cwd) values (${`session-${runId}`}, ${`${runId}-01`}, 'pi', '/nowhere')`.execute(
    db,
  );
  for (const event of journals.read(journals.file("run", runId)))
    await sql`insert into events (seq, event_id, run_id, phase_id, type, name, payload_json, ts)
      values ((select coalesce(max(seq), 0) + 1 from events), ${event["event_id"]}, ${runId}, ${event["phase_id"]}, ${event["type"]}, ${event["name"]}, ${JSON.stringify(event["payload"])}, ${event["ts"]})`.execute(
      db,
    );
}

describeOnBases("the worker's mirror", (test) => {
  test("a run loaded from PostgreSQL is equal to the same run loaded from SQLite", async ({ db }) => {
    writeRun(journals, "a1b2c3d4", [
      { calls: CALLS },
      { calls: [{ input: 20, output: 9, end: "aborted" }], status: "failed", cause: "timeout" },
    ]);
    await storeRun(db, "a1b2c3d4");
    await mirrorToPostgres(db, { dataDir: journals.dataDir });
    using open = await openJournals({ dataDir: journals.dataDir, dbFile: journals.dbFile });
    const fromSqlite = await loadRun(open.source, "a1b2c3d4");
    const fromPostgres = await loadRun(createPostgresSource(db), "a1b2c3d4");
    expect(fromPostgres).toEqual(fromSqlite);
    expect(fromSqlite?.phases[0]?.bills).toHaveLength(4);
    expect(fromSqlite?.phases[0]?.harness.length).toBeGreaterThan(8);
  });

  test("both mirrors hold the same lines, the view joins them, and the typed columns sum to the bills alone", async ({ db }) => {
    writeRun(journals, "b1b2c3d4", [{ calls: CALLS }]);
    await storeRun(db, "b1b2c3d4");
    await mirrorToPostgres(db, { dataDir: journals.dataDir });
    await ingestTraces({ dataDir: journals.dataDir, dbFile: journals.dbFile });
    const { rows } = await sql<Record<string, unknown>>`
      select event_id, session_id, type, name, payload_json, ts from harness_by_phase where adw_id = 'b1b2c3d4' and phase_id = 'b1b2c3d4-01' order by line_no`.execute(
      db,
    );
    expect(rows.map((row) => Object.values(row))).toEqual(
      query(journals.dbFile, "SELECT event_id, session_id, type, name, payload_json, ts FROM harness_events ORDER BY rowid").map((row) =>
        Object.values(row),
      ),
    );
    const sums = await sql<{
      tokens: number;
      cost: number;
    }>`select sum(tokens)::bigint as tokens, sum(cost_usd) as cost from harness_by_phase where adw_id = 'b1b2c3d4'`.execute(db);
    expect(sums.rows[0]).toEqual({ tokens: 26_810, cost: 0.08295 });
  });

  test("only what is new is read; a torn line waits; nothing is stored twice", async ({ db }) => {
    writeRun(journals, "c1b2c3d4", [{ calls: CALLS }]);
    const options = { dataDir: journals.dataDir };
    expect((await mirrorToPostgres(db, options)).harnessEvents).toBe(8);
    expect((await mirrorToPostgres(db, options)).harnessEvents).toBe(0);
    const file = journals.file("harness", "session-c1b2c3d4");
    const text = JSON.stringify({
      event_id: "hev_cccccccccccc",
      ts: "2026-09-02T14:07:31.412Z",
      session_id: "session-c1b2c3d4",
      type: "x",
      name: null,
      payload: {},
    });
    appendFileSync(file, text.slice(0, 40));
    expect(await mirrorToPostgres(db, options)).toMatchObject({ harnessEvents: 0, skipped: { "not-json": 0 } });
    appendFileSync(file, `${text.slice(40)}\n`);
    expect((await mirrorToPostgres(db, options)).harnessEvents).toBe(1);
    const { rows } = await sql<{
      n: number;
      last: number;
    }>`select count(*) as n, max(line_no) as last from harness_events where session_id = 'session-c1b2c3d4'`.execute(db);
    expect(rows[0]).toEqual({ n: 9, last: 9 });
  });

  test("hostile lines cost no other line: NUL, lone surrogates, figures and times beyond what a column holds", async ({ db }) => {
    const file = journals.file("harness", "hostile");
    const line = (n: number, more: object): object => ({
      event_id: `hev_dddddddddd0${n}`,
      ts: "2026-09-02T14:07:31.412Z",
      session_id: "hostile",
      type: "assistant",
      name: "m",
      payload: {},
      ...more,
    });
    journals.append(
      file,
      line(1, { name: "a\u0000\ud800b", payload: { head: "\u0000\ud800" } }),
      line(2, { payload: { total_tokens: 1e300, cost_usd: 1e300, turn: 1e12 } }),
    );
    journals.append(
      file,
      line(3, { ts: "yesterday" }),
      line(4, { ts: null, type: null }),
      line(5, { ts: "275760-01-01T00:00:00.000Z" }),
      line(7, { type: "agent_settled", payload: { total_tokens: 99, cost_usd: 9 } }),
      line(6, { payload: { total_tokens: 10, cost_usd: 0.5, turn: 2, tool_call_id: "t\u0000" } }),
    );
    journals.append(journals.file("bill", "2026-09-03"), {
      event_id: "bil_dddddddddddd",
      ts: "x",
      session_id: null,
      type: "bill_close",
      name: "x",
      payload: {
        id: "h-c1",
        seq: 1e300,
        input: 1e300,
        cost_usd: -1e300,
        started_at: "never",
        attempt: 1e10,
        outcome: "exploded",
        cost_status: "dear",
        model_answered: "\u0000",
      },
    });
    expect((await mirrorToPostgres(db, { dataDir: journals.dataDir })).harnessEvents).toBe(7);
    const { rows } = await sql<
      Record<string, unknown>
    >`select tokens, cost_usd, turn, tool_call_id, ts from harness_events where session_id = 'hostile' order by line_no`.execute(db);
    const at = "2026-09-02T14:07:31.412Z";
    expect(rows.map((row) => Object.values(row))).toEqual([
      ...[1, 2, 3, 4, 5, 7].map(() => [null, null, null, null, at]),
      [10, 0.5, 2, "t\uFFFD", at],
    ]);
    const bills = await sql`select seq, input, cost_usd, attempt, outcome, cost_status from llm_calls where id = 'h-c1'`.execute(db);
    expect(bills.rows).toEqual([{ seq: 0, input: null, costUsd: null, attempt: null, outcome: null, costStatus: null }]);
  });

  test("an opening bill has no outcome until its closing line comes; the first closing line wins", async ({ db }) => {
    writeRun(journals, "d1b2c3d4", [{ calls: [CALLS[0]] }]);
    const file = journals.file("bill", "2026-09-02");
    const closing = journals.read(file).at(-1);
    journals.edit(file, (text) => (text.includes("bill_close") ? undefined : text));
    await mirrorToPostgres(db, { dataDir: journals.dataDir });
    const read = async (): Promise<unknown> =>
      (await sql`select outcome, cost_usd from llm_calls where run_id = 'd1b2c3d4'`.execute(db)).rows;
    expect(await read()).toEqual([{ outcome: null, costUsd: null }]);
    journals.append(file, closing ?? {});
    await mirrorToPostgres(db, { dataDir: journals.dataDir });
    journals.append(file, {
      ...closing,
      event_id: "bil_eeeeeeeeeeee",
      payload: { ...(closing?.["payload"] as object), cost_usd: 99, outcome: "timeout" },
    });
    await mirrorToPostgres(db, { dataDir: journals.dataDir });
    expect(await read()).toEqual([{ outcome: "done", costUsd: 0.00435 }]);
  });

  test("a call that comes while the mirror is at work returns when its own lines are mirrored too", async ({ db }) => {
    const mirrors = createMirrors({ db, dataDir: journals.dataDir, log: silent });
    const line = (session: string, n: number): object => ({
      ...{
        event_id: `hev_${session === "late" ? "f" : "e"}${String(n).padStart(11, "0")}`,
        ts: "2026-09-02T14:07:31.412Z",
        session_id: session,
      },
      ...{ type: "x", name: null, payload: { head: "y".repeat(2000) } },
    });
    const count = async (session: string): Promise<number> =>
      (await sql<{ n: number }>`select count(*) as n from harness_events where session_id = ${session}`.execute(db)).rows[0]?.n ?? 0;
    journals.append(journals.file("harness", "busy"), ...Array.from({ length: 40_000 }, (_value, n) => line("busy", n)));
    const first = mirrors.toPostgres();
    await expect.poll(() => count("busy"), { interval: 1, timeout: 60_000 }).toBeGreaterThan(0);
    // The journals were listed before this one was there.
    journals.append(journals.file("harness", "late"), line("late", 1));
    await mirrors.toPostgres();
    expect(await count("late")).toBe(1);
    await first;
    expect(await count("busy")).toBe(40_000);
    await mirrors.toSqlite();
    expect(query(journals.dbFile, "SELECT COUNT(*) AS n FROM harness_events WHERE session_id IN ('busy', 'late')")).toEqual([
      { n: 40_001 },
    ]);
  });
});
