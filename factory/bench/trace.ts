import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import type { Kysely } from "kysely";
import { sql } from "kysely";
import { openDatabase } from "../src/db/open-database.ts";
import type { Tables } from "../src/db/tables.ts";
import { loadRun, type TraceSource } from "../src/trace/load-run.ts";
import { mirrorToPostgres } from "../src/trace/mirror-to-postgres.ts";
import { openJournals } from "../src/trace/open-journals.ts";
import { createPostgresSource } from "../src/trace/postgres-source.ts";
import { summarizeRun } from "../src/trace/report-last.ts";
import { cloneTestDatabase } from "../test/integration/support/test-server.sql.ts";

// The mirror's speed: `npm run bench:trace -- [--files 500] [--events 400] [--million 1000000] [--rounds 5] [--database-url URL]`
// (an admin's URL: databases of its own are made there and dropped). Prints a Markdown table. The peer is a plain loop: parse
// a line, insert a row, next.

const { values: flags } = parseArgs({
  options: {
    files: { type: "string", default: "500" },
    events: { type: "string", default: "400" },
    million: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "5" },
    "database-url": { type: "string" },
  },
});
const FILES = Number(flags.files);
const EVENTS = Number(flags.events);
const MILLION = Number(flags.million);
const ROUNDS = Number(flags.rounds);
const PHASES_PER_RUN = 4;
const BIN = join(import.meta.dirname, "../bin/harnais.mjs");
const HEAD = '{"command":"npm test -- --run src/footer.test.ts 2>&1 | tail -40 && git status --short"}';

const root = mkdtempSync(join(tmpdir(), "harnais-bench-"));
const rows: string[][] = [];
const note = (what: string, value: string, target: string): void => {
  rows.push([what, value, target]);
  console.error(`${what}: ${value}`);
};

/** Journals of `files` sessions, four phases a run. */
function writeJournals(name: string, files: number): string {
  const dataDir = join(root, name);
  mkdirSync(join(dataDir, "traces", "harness"), { recursive: true });
  const at = (n: number): string => new Date(Date.parse("2026-09-02T08:00:00.000Z") + n).toISOString();
  let id = 0;
  const toLine = (prefix: string, owner: object, part: object): string =>
    `${JSON.stringify({ event_id: `${prefix}_${(id++).toString(16).padStart(12, "0")}`, ts: at(id * 5), ...owner, ...part })}\n`;
  for (let file = 0; file < files; file++) {
    const runId = toRunId(Math.floor(file / PHASES_PER_RUN));
    const seq = (file % PHASES_PER_RUN) + 1;
    const session = { session_id: `session-${file}` };
    const lines = Array.from({ length: EVENTS }, (_value, n) => toLine("hev", session, toEvent(n)));
    writeFileSync(join(dataDir, "traces", "harness", `session-${file}.jsonl`), lines.join(""));
    const phase = (type: string, payload: object): string =>
      toLine("evt", { run_id: runId, phase_id: `${runId}-0${seq}` }, { type, name: `phase${seq}`, payload });
    const run = (type: string, payload: object): string =>
      toLine("evt", { run_id: runId, phase_id: null }, { type, name: "change", payload });
    const money = { cost_usd: 1.5, cost_complete: true, tokens: 1000 };
    const events = [
      ...(seq === 1 ? [run("run_start", { adw_name: "change", request: "x", project: "bench", request_id: null, level: "none" })] : []),
      phase("phase_start", { seq, name: `phase${seq}`, kind: "agent", retries: 0 }),
      phase("phase_session", { session_id: `session-${file}`, attempt: 1, harness: "pi" }),
      phase("phase_end", { status: "done", attempts: 1, ...money }),
      ...(seq === PHASES_PER_RUN ? [run("run_finish", { ok: true, status: "done", cause: null, ...money, duration_ms: 1 })] : []),
    ];
    writeFileSync(join(dataDir, "traces", `${runId}.jsonl`), events.join(""), { flag: "a" });
  }
  return dataDir;
}

const toRunId = (n: number): string => (0xa000_0000 + n).toString(16);

function toEvent(n: number): object {
  const turn = Math.floor(n / 5) + 1;
  const types = [
    { type: "turn_start", name: `turn ${turn}`, payload: { turn } },
    {
      type: "assistant",
      name: "openrouter/z-ai/glm-5.3",
      payload: {
        input: 38_120,
        output: 1460,
        cache_read: 0,
        cache_write: 0,
        total_tokens: 39_580,
        cost_usd: 0.0598,
        stop_reason: "toolUse",
        tool_calls: 1,
        chars: 300,
        response_id: `gen-${n}`,
      },
    },
    { type: "tool_start", name: "bash", payload: { tool_call_id: `call_${n}`, args: HEAD } },
    {
      type: "tool_end",
      name: "bash",
      payload: { tool_call_id: `call_${n}`, args: HEAD, duration_ms: 12, is_error: false, result_chars: 3000 },
    },
    { type: "turn_end", name: `turn ${turn}`, payload: { turn, tool_results: 1 } },
  ];
  return types[n % types.length] ?? {};
}

async function timed<Result>(work: () => Result | Promise<Result>): Promise<{ ms: number; result: Result }> {
  const startedAt = performance.now();
  const result = await work();
  return { ms: performance.now() - startedAt, result };
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const rate = (count: number, ms: number): string => `${Math.round(count / (ms / 1000)).toLocaleString("en")} events/s`;

function ingestCommand(dataDir: string): string {
  return execFileSync(process.execPath, [BIN, "trace", "ingest"], {
    env: { PATH: process.env["PATH"], HARNAIS_DATA_DIR: dataDir },
    encoding: "utf8",
  });
}

function forgetMirror(dataDir: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(join(dataDir, `factory.db${end}`), { force: true });
}

function* readEvents(dataDir: string): Generator<Record<string, string>> {
  const folder = join(dataDir, "traces", "harness");
  for (const name of readdirSync(folder))
    for (const line of readFileSync(join(folder, name), "utf8").split("\n"))
      if (line !== "") yield JSON.parse(line) as Record<string, string>;
}

/** One line, one insert, one commit. */
function insertSinglyIntoSqlite(dataDir: string): void {
  const db = new DatabaseSync(join(root, `peer-${performance.now()}.db`));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  db.exec("CREATE TABLE harness_events (event_id TEXT PRIMARY KEY, session_id TEXT, type TEXT, name TEXT, payload_json TEXT, ts TEXT)");
  db.exec("CREATE INDEX harness_events_session ON harness_events (session_id, ts)");
  const insert = db.prepare("INSERT OR IGNORE INTO harness_events VALUES (?, ?, ?, ?, ?, ?)");
  for (const event of readEvents(dataDir))
    insert.run(
      event["event_id"] ?? "",
      event["session_id"] ?? "",
      event["type"] ?? "",
      event["name"] ?? "",
      JSON.stringify(event["payload"]),
      event["ts"] ?? "",
    );
  db.close();
}

async function insertSinglyIntoPostgres(db: Kysely<Tables>, dataDir: string, most: number): Promise<number> {
  let count = 0;
  for (const event of readEvents(dataDir)) {
    if (count++ >= most) break;
    await sql`insert into harness_events (event_id, session_id, type, name, payload_json, ts)
      values (${`peer${event["event_id"]}`}, ${event["session_id"]}, ${event["type"]}, ${event["name"]}, ${JSON.stringify(event["payload"])}, ${event["ts"]}) on conflict do nothing`.execute(
      db,
    );
  }
  return most;
}

async function measureSqlite(dataDir: string): Promise<void> {
  const total = FILES * EVENTS;
  const ours: number[] = [];
  const peer: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    forgetMirror(dataDir);
    ours.push((await timed(() => ingestCommand(dataDir))).ms);
    peer.push((await timed(() => insertSinglyIntoSqlite(dataDir))).ms);
  }
  const idle: number[] = [];
  for (let round = 0; round < ROUNDS * 2; round++) idle.push((await timed(() => ingestCommand(dataDir))).ms);
  const ratio = median(peer.map((ms, round) => ms / (ours[round] ?? ms)));
  note(
    `SQLite, the whole command, first time (${FILES} × ${EVENTS})`,
    `${rate(total, median(ours))}, ${(median(ours) / 1000).toFixed(2)} s`,
    "≥ 20 000 events/s",
  );
  note("  peer: a plain loop of single inserts", `${rate(total, median(peer))}; the command is ${ratio.toFixed(1)} × as fast`, "");
  note("SQLite, the whole command, nothing new", `${Math.round(median(idle))} ms (min ${Math.round(Math.min(...idle))})`, "≤ 300 ms");
}

async function measurePostgres(dataDir: string, databaseUrl: string | undefined): Promise<void> {
  const kind = databaseUrl === undefined ? "PGlite" : "PostgreSQL";
  const own = databaseUrl === undefined ? undefined : await cloneTestDatabase(databaseUrl, join(root, "base"));
  const database = await openDatabase({ dataDir: join(root, `base-${kind}`), databaseUrl: own?.url });
  const { db } = database;
  const first = await timed(() => mirrorToPostgres(db, { dataDir }));
  const second = await timed(() => mirrorToPostgres(db, { dataDir }));
  const singly = Math.min(10_000, FILES * EVENTS);
  const peer = await timed(() => insertSinglyIntoPostgres(db, dataDir, singly));
  note(
    `${kind}, the worker's mirror, first time`,
    `${rate(first.result.harnessEvents, first.ms)}, ${(first.ms / 1000).toFixed(2)} s`,
    "≥ 20 000 events/s",
  );
  const ratio = first.result.harnessEvents / first.ms / (singly / peer.ms);
  note(`  peer: a plain loop of single inserts (${singly})`, `${rate(singly, peer.ms)}; the mirror is ${ratio.toFixed(1)} × as fast`, "");
  note(`${kind}, the worker's mirror, nothing new`, `${Math.round(second.ms)} ms`, "");
  await database.close();
  await own?.drop();
}

const THREE_QUERIES = [
  "SELECT phase_id, COUNT(*) AS n FROM harness_by_phase WHERE adw_id=(SELECT adw_id FROM runs ORDER BY started_at DESC LIMIT 1) GROUP BY phase_id ORDER BY phase_id",
  "SELECT ts, name, json_extract(payload_json,'$.total_tokens') AS tokens, json_extract(payload_json,'$.cost_usd') AS usd FROM harness_by_phase WHERE phase_id='a0000001-01' AND type='assistant' ORDER BY ts",
  "SELECT type, COUNT(*) FROM harness_by_phase WHERE adw_id=(SELECT adw_id FROM runs ORDER BY started_at DESC LIMIT 1) GROUP BY type ORDER BY type",
];

async function measureLast(source: TraceSource, what: string): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { ms } = await timed(async () => {
      const [runId = ""] = await source.listRunIds(1);
      const run = await loadRun(source, runId);
      if (run === undefined || summarizeRun(run).phases.length === 0) throw new Error(`no run in ${what}`);
    });
    times.push(ms);
  }
  note(`${what}: \`trace last\`, queries and report`, `${median(times).toFixed(1)} ms (first ${(times[0] ?? 0).toFixed(1)})`, "≤ 100 ms");
}

async function measureMillion(databaseUrl: string | undefined): Promise<void> {
  const dataDir = writeJournals("million", Math.round(MILLION / EVENTS));
  const label = `${MILLION.toLocaleString("en")} events`;
  const { ms } = await timed(() => ingestCommand(dataDir));
  note(`${label} into SQLite, the whole command`, `${rate(MILLION, ms)}, ${(ms / 1000).toFixed(1)} s`, "");
  using journals = await openJournals({ dataDir, dbFile: join(dataDir, "factory.db") });
  await measureLast(journals.source, `SQLite, ${label}`);
  for (const [index, text] of THREE_QUERIES.entries()) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) times.push((await timed(() => journals.mirror.prepare(text).all())).ms);
    note(
      `SQLite, ${label}: query ${index + 1} as typed`,
      `${median(times).toFixed(1)} ms (first ${(times[0] ?? 0).toFixed(1)})`,
      "≤ 100 ms",
    );
  }
  for (const url of databaseUrl === undefined ? [undefined] : [undefined, databaseUrl]) await measureMillionInPostgres(dataDir, url, label);
}

async function measureMillionInPostgres(dataDir: string, databaseUrl: string | undefined, label: string): Promise<void> {
  const kind = databaseUrl === undefined ? "PGlite" : "PostgreSQL";
  const own = databaseUrl === undefined ? undefined : await cloneTestDatabase(databaseUrl, join(root, "million-base"));
  const database = await openDatabase({ dataDir: join(root, `million-${kind}`), databaseUrl: own?.url });
  const { db } = database;
  const first = await timed(() => mirrorToPostgres(db, { dataDir }));
  note(
    `${label} into ${kind}, the worker's mirror`,
    `${rate(first.result.harnessEvents, first.ms)}, ${(first.ms / 1000).toFixed(1)} s`,
    "",
  );
  await storeRuns(db, dataDir);
  await sql`analyze`.execute(db);
  await measureLast(createPostgresSource(db), `${kind}, ${label}`);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    times.push(
      (
        await timed(() =>
          sql`select phase_id, count(*) as n, sum(tokens) as tokens, sum(cost_usd) as usd from harness_by_phase where adw_id = (select run_id from runs order by started_at desc limit 1) group by phase_id order by phase_id`.execute(
            db,
          ),
        )
      ).ms,
    );
  note(
    `${kind}, ${label}: sums per phase of the newest run`,
    `${median(times).toFixed(1)} ms (first ${(times[0] ?? 0).toFixed(1)})`,
    "≤ 100 ms",
  );
  await database.close();
  await own?.drop();
}

/** The engine's own rows of the runs. */
async function storeRuns(db: Kysely<Tables>, dataDir: string): Promise<void> {
  const names = readdirSync(join(dataDir, "traces")).filter((name) => name.endsWith(".jsonl"));
  const events = names.flatMap((name) =>
    readFileSync(join(dataDir, "traces", name), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, string>),
  );
  const texts = (key: string): (string | null)[] => events.map((event) => event[key] ?? null);
  await sql`insert into projects (id, name, repo, base_branch) values ('bench', 'bench', '/bench', 'main')`.execute(db);
  await sql`insert into runs (run_id, project_id, workflow, input, status, started_at)
    select r, 'bench', 'change', 'x', 'done', min(t) from unnest(${texts("run_id")}::text[], ${texts("ts")}::timestamptz[]) e(r, t) group by r`.execute(
    db,
  );
  await sql`insert into phases (phase_id, run_id, seq, name, kind, status, started_at)
    select distinct p, left(p, 8), right(p, 2)::int, 'phase' || right(p, 1), 'agent', 'done', now() from unnest(${texts("phase_id")}::text[]) p where p is not null`.execute(
    db,
  );
  await sql`insert into sessions (session_id, phase_id, harness, cwd)
    select j::json ->> 'session_id', p, 'pi', '/bench' from unnest(${texts("phase_id")}::text[], ${events.map((event) => JSON.stringify(event["payload"]))}::text[], ${texts("type")}::text[]) e(p, j, k) where k = 'phase_session'`.execute(
    db,
  );
  await sql`insert into events (seq, event_id, run_id, phase_id, type, name, payload_json, ts)
    select row_number() over (), * from unnest(${texts("event_id")}::text[], ${texts("run_id")}::text[], ${texts("phase_id")}::text[], ${texts("type")}::text[], ${texts("name")}::text[], ${events.map((event) => JSON.stringify(event["payload"]))}::text[], ${texts("ts")}::timestamptz[])`.execute(
    db,
  );
}

try {
  const databaseUrl = flags["database-url"];
  const dataDir = writeJournals("small", FILES);
  await measureSqlite(dataDir);
  for (const url of databaseUrl === undefined ? [undefined] : [undefined, databaseUrl]) await measurePostgres(dataDir, url);
  await measureMillion(databaseUrl);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, load ${(loadavg()[0] ?? 0).toFixed(1)}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`;
  console.log(`${machine}\n\n| what | measured | target |\n|---|---|---|\n${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}`);
} finally {
  rmSync(root, { recursive: true, force: true });
}
