import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { sql } from "kysely";
import { openDatabase } from "../src/db/open-database.ts";
import type { Tables } from "../src/db/tables.ts";

// What the embedded base holds: 1 000 000 harness events of 2 500 runs. `node factory/bench/pglite-million.ts [databaseUrl]`

const RUNS = 2500;
const PHASES_PER_RUN = 4;
const EVENTS_PER_SESSION = 100;
const BATCH_ROWS = 5000;
const TOTAL = RUNS * PHASES_PER_RUN * EVENTS_PER_SESSION;
const TYPES = ["turn_start", "assistant", "tool_start", "tool_end", "turn_end"];
const TEXT = "Reads the file, finds the footer and says what it would change in it. ".repeat(3);
const MEBIBYTE = 1024 * 1024;

const databaseUrl = process.argv[2];
const dataDir = mkdtempSync(join(tmpdir(), "harnais-million-"));

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const startedAt = performance.now();
  const value = await work();
  return { ms: performance.now() - startedAt, value };
}

const hex = (n: number): string => n.toString(16).padStart(8, "0");
const rssMiB = (): number => Math.round(process.memoryUsage.rss() / MEBIBYTE);
const diskMiB = (): number =>
  Math.round(Number(execFileSync("du", ["-sk", join(dataDir, "db")], { encoding: "utf8" }).split("\t")[0]) / 1024);
const report = (what: string, value: string): void => console.log(`${what.padEnd(64)} ${value}`);

async function insertRuns(db: Kysely<Tables>): Promise<void> {
  await sql`insert into projects (id, name, repo, base_branch) values ('bench', 'bench', '/bench', 'main')`.execute(db);
  await sql`insert into runs (run_id, project_id, workflow, input, status)
    select lpad(to_hex(r), 8, '0'), 'bench', 'change', 'x', 'done' from generate_series(1, ${sql.lit(RUNS)}) r`.execute(db);
  await sql`insert into phases (phase_id, run_id, seq, name, kind, status, started_at)
    select run_id || '-' || p, run_id, p, 'phase' || p, 'agent', 'done', now() from runs, generate_series(1, ${sql.lit(PHASES_PER_RUN)}) p`.execute(
    db,
  );
  await sql`insert into sessions (session_id, phase_id, harness, cwd) select 's-' || phase_id, phase_id, 'pi', '/bench' from phases`.execute(
    db,
  );
}

function toBatch(from: number) {
  const ids: string[] = [];
  const sessions: string[] = [];
  const types: string[] = [];
  const payloads: string[] = [];
  const times: string[] = [];
  const lines: number[] = [];
  const tokens: (number | null)[] = [];
  const costs: (number | null)[] = [];
  for (let n = from; n < from + BATCH_ROWS; n++) {
    const session = Math.floor(n / EVENTS_PER_SESSION);
    const type = TYPES[n % TYPES.length] ?? "";
    const isAssistant = type === "assistant";
    ids.push(`hev_${n.toString(16).padStart(12, "0")}`);
    sessions.push(`s-${hex(Math.floor(session / PHASES_PER_RUN) + 1)}-${(session % PHASES_PER_RUN) + 1}`);
    types.push(type);
    payloads.push(JSON.stringify({ turn: n % 20, text: isAssistant ? TEXT : "", model: "rehearsal/bench", n }));
    times.push(new Date(1_790_000_000_000 + n * 100).toISOString());
    lines.push((n % EVENTS_PER_SESSION) + 1);
    tokens.push(isAssistant ? 1250 : null);
    costs.push(isAssistant ? 0.004_35 : null);
  }
  return { ids, sessions, types, payloads, times, lines, tokens, costs };
}

async function insertEvents(db: Kysely<Tables>): Promise<void> {
  for (let from = 0; from < TOTAL; from += BATCH_ROWS) {
    const batch = toBatch(from);
    await sql`insert into harness_events (event_id, session_id, type, payload_json, ts, line_no, tokens, cost_usd)
      select * from unnest(${batch.ids}::text[], ${batch.sessions}::text[], ${batch.types}::text[], ${batch.payloads}::text[],
        ${batch.times}::timestamptz[], ${batch.lines}::int8[], ${batch.tokens}::int8[], ${batch.costs}::numeric[])
      on conflict do nothing`.execute(db);
  }
}

const selectRun = (db: Kysely<Tables>, runId: string) =>
  sql`select phase_id, count(*) as events, sum(tokens) as tokens, sum(cost_usd) as cost
    from harness_by_phase where adw_id = ${runId} group by phase_id order by phase_id`.execute(db);

const selectAll = (db: Kysely<Tables>) =>
  sql`select phase_id, count(*) as events, sum(tokens) as tokens, sum(cost_usd) as cost
    from harness_by_phase group by phase_id order by cost desc limit 10`.execute(db);

try {
  const first = await timed(() => openDatabase({ dataDir, databaseUrl }));
  const { db } = first.value;
  report(
    "base",
    `${first.value.kind} ${await first.value.version()}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, ${new Date().toISOString()}`,
  );
  report("first start, from the snapshot where it is embedded", `${Math.round(first.ms)} ms, RSS ${rssMiB()} MiB`);
  await insertRuns(db);
  const inserted = await timed(() => insertEvents(db));
  report(
    `insert ${TOTAL} events, unnest ${BATCH_ROWS}`,
    `${(inserted.ms / 1000).toFixed(1)} s, ${Math.round(TOTAL / (inserted.ms / 1000))} rows/s, RSS ${rssMiB()} MiB`,
  );
  const again = await timed(() => insertEvents(db));
  report("the same again: all duplicates", `${Math.round(TOTAL / (again.ms / 1000))} rows/s`);
  if (databaseUrl === undefined) report("size of db/", `${diskMiB()} MiB`);
  const analysed = await timed(() => sql`analyze`.execute(db));
  report("analyze", `${Math.round(analysed.ms)} ms`);
  const oneRun: number[] = [];
  for (let n = 0; n < 50; n++) oneRun.push((await timed(() => selectRun(db, hex(1 + ((n * 47) % RUNS))))).ms);
  oneRun.sort((a, b) => a - b);
  report("money per phase of one run (harness_by_phase), p50 / max of 50", `${oneRun[25]?.toFixed(1)} / ${oneRun[49]?.toFixed(1)} ms`);
  const all = await timed(() => selectAll(db));
  report("money per phase over all 10 000 phases", `${Math.round(all.ms)} ms`);
  const count = await timed(() => sql`select count(*) as n from harness_events`.execute(db));
  report("count(*)", `${Math.round(count.ms)} ms, RSS ${rssMiB()} MiB`);
  const closed = await timed(() => first.value.close());
  report("close", `${Math.round(closed.ms)} ms`);
  const second = await timed(() => openDatabase({ dataDir, databaseUrl }));
  report("open again", `${Math.round(second.ms)} ms`);
  if (databaseUrl === undefined) report("size of db/ after the clean stop", `${diskMiB()} MiB`);
  await second.value.close();
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
