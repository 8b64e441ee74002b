import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ingestTraces, type IngestReport } from "../../src/trace/ingest-traces.ts";
import { runSelftest } from "../../src/trace/selftest.ts";
import { countRaw } from "./support/count-raw.ts";
import { type Journals, openJournalsFolder, writeRun } from "./support/journals.ts";
import { query, readMirror } from "./support/read-mirror.sql.ts";

let journals: Journals;
beforeEach(() => void (journals = openJournalsFolder()));
afterEach(() => journals.remove());

const ingest = (): Promise<IngestReport> => ingestTraces({ dataDir: journals.dataDir, dbFile: journals.dbFile });
const sessionFile = (): string => journals.file("harness", "s1");
const id = (n: number): string => `hev_${n.toString(16).padStart(12, "0")}`;
const line = (n: number, more: object = {}): object => ({
  ...{ event_id: id(n), ts: "2026-09-02T14:07:31.412Z", session_id: "s1", type: "turn_start", name: `turn ${n}`, payload: { turn: n } },
  ...more,
});
const jsonl = (value: object): string => `${JSON.stringify(value)}\n`;

test("a second ingest duplicates nothing and reads nothing; ten in a row neither", async () => {
  writeRun(journals, "a1b2c3d4", [{ calls: [{ input: 1, output: 1 }] }]);
  expect((await ingest()).harnessEvents).toBe(5);
  for (let round = 0; round < 10; round++) expect(await ingest()).toMatchObject({ harnessEvents: 0, runnerEvents: 0, filesRead: 0 });
  expect(readMirror(journals.dbFile)).toEqual(countRaw(journals.dataDir));
});

test("what an ingest does not know is counted, what it does not understand is kept", async () => {
  const bad = ["not json\n", "[]\n", "null\n", "\n", '{"event_id":"hev_00000000000', 'a"}\n'].join("");
  journals.append(
    sessionFile(),
    line(1),
    bad,
    line(2, { event_id: "hev_XYZ" }),
    line(3, { session_id: "../../etc/passwd" }),
    line(4, { session_id: undefined }),
  );
  journals.append(
    sessionFile(),
    line(5, { type: "from_the_future", payload: { "": [1, { __proto__x: 2 }] }, further: true }),
    line(6, { payload: null }),
    line(7, { name: null }),
  );
  const report = await ingest();
  expect(report.skipped).toEqual({ "not-json": 3, "bad-id": 4, "too-long": 0 });
  expect(report.harnessEvents).toBe(4);
  expect(query(journals.dbFile, "SELECT type FROM harness_events WHERE event_id = ?", id(5))).toEqual([{ type: "from_the_future" }]);
});

test("hostile content is one value like any other: NUL, half a surrogate pair, quotes of SQL, deep nesting, 20 MB", async () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const nul = { name: "a\u0000b", payload: { head: "\u0000 and \ud800 and '); DROP TABLE harness_events; --", "\u0000": "\udfff" } };
  journals.append(sessionFile(), line(1, nul), `{"event_id":"${id(2)}","session_id":"s1","payload":${deep}}\n`);
  journals.append(
    sessionFile(),
    line(3, { payload: { head: "x".repeat(20 * 1024 * 1024) } }),
    line(4, { payload: { head: "y".repeat(15 * 1024 * 1024) } }),
    line(5),
  );
  const report = await ingest();
  expect(report.skipped).toEqual({ "not-json": 1, "bad-id": 0, "too-long": 1 });
  expect(Object.keys(readMirror(journals.dbFile))).toEqual([id(1), id(4), id(5)]);
  const [stored] = query(
    journals.dbFile,
    "SELECT payload_json, json_extract(payload_json, '$.head') IS NOT NULL AS has_head FROM harness_events WHERE event_id = ?",
    id(1),
  );
  expect(JSON.parse(String(stored?.["payload_json"]))).toEqual(nul.payload);
  expect(stored?.["has_head"]).toBe(1);
});

test("files that grow byte by byte between 50 ingests give the mirror that one ingest of the whole gives", async () => {
  const whole = Buffer.from(
    [1, 2, 3, 4, 5, 6].map((n) => jsonl(line(n, n === 4 ? { name: "é 漢 \ud83d\ude00" } : {}))).join("") + JSON.stringify(line(7)),
  );
  const seen: number[] = [];
  journals.append(sessionFile(), "");
  for (let round = 1; round <= 50; round++) {
    const from = Math.floor((whole.length * (round - 1)) / 50);
    appendFileSync(sessionFile(), whole.subarray(from, Math.floor((whole.length * round) / 50)));
    seen.push((await ingest()).harnessEvents);
  }
  expect(seen.reduce((sum, count) => sum + count, 0)).toBe(7);
  expect(readMirror(journals.dbFile)).toEqual(countRaw(journals.dataDir));
  expect((await ingest()).skipped).toEqual({ "not-json": 0, "bad-id": 0, "too-long": 0 });
});

test("a last line without line end is kept; a torn one is neither kept nor counted until it is whole", async () => {
  const text = jsonl(line(2));
  journals.append(sessionFile(), line(1), text.slice(0, 60));
  expect(await ingest()).toMatchObject({ harnessEvents: 1, skipped: { "not-json": 0 } });
  appendFileSync(sessionFile(), text.slice(60, -1));
  expect(await ingest()).toMatchObject({ harnessEvents: 1 });
  appendFileSync(sessionFile(), `\n${jsonl(line(3))}`);
  expect(await ingest()).toMatchObject({ harnessEvents: 1 });
  // A writer that was cut: the next one begins a new line.
  appendFileSync(sessionFile(), text.slice(0, 30));
  await ingest();
  appendFileSync(sessionFile(), `\n${jsonl(line(4))}`);
  expect(await ingest()).toMatchObject({ harnessEvents: 1, skipped: { "not-json": 1 } });
});

test("a journal that was changed is read again from its start, an append is not", async () => {
  journals.append(sessionFile(), ...[1, 2, 3].map((n) => line(n)));
  await ingest();
  journals.append(sessionFile(), line(4));
  expect(await ingest()).toMatchObject({ harnessEvents: 1, rewritten: [] });
  const at = new Date("2026-09-02T14:00:00.000Z");
  utimesSync(sessionFile(), at, at);
  await ingest();
  // Same size, same times as far as a program can set them.
  writeFileSync(sessionFile(), readFileSync(sessionFile(), "utf8").replace('"turn 2"', '"turn X"'));
  utimesSync(sessionFile(), at, at);
  expect(await ingest()).toMatchObject({ harnessEvents: 0, rewritten: [sessionFile()], conflicts: [{ eventId: id(2), lineNo: 2 }] });
  // Edited and grown at once.
  writeFileSync(sessionFile(), readFileSync(sessionFile(), "utf8").replace('"turn 1"', '"turn Y"') + jsonl(line(5)));
  expect(await ingest()).toMatchObject({ harnessEvents: 1, rewritten: [sessionFile()] });
  truncateSync(sessionFile(), 0);
  appendFileSync(sessionFile(), jsonl(line(6)));
  expect(await ingest()).toMatchObject({ harnessEvents: 1, rewritten: [sessionFile()] });
});

test("the same id with other content, in another file, is reported; the first stays", async () => {
  journals.append(sessionFile(), line(1));
  journals.append(journals.file("harness", "s2"), line(1, { session_id: "s2" }), line(1));
  const report = await ingest();
  expect(report.conflicts).toEqual([{ file: journals.file("harness", "s2"), lineNo: 1, eventId: id(1) }]);
  expect(query(journals.dbFile, "SELECT session_id FROM harness_events")).toEqual([{ session_id: "s1" }]);
});

test("a mirror that is deleted is rebuilt from the raw files, value for value; one that is no database is a clear error", async () => {
  writeRun(journals, "a1b2c3d4", [
    {
      calls: [
        { input: 1, output: 1 },
        { kind: "compaction", input: 5, output: 5 },
      ],
    },
    { calls: [{ input: 2, output: 2, end: "aborted" }], status: "failed", cause: "timeout" },
  ]);
  await ingest();
  const dump = (): unknown =>
    ["harness_events", "runs", "phases", "events", "llm_calls"].map((table) => query(journals.dbFile, `SELECT * FROM ${table} ORDER BY 1`));
  const before = dump();
  for (const end of ["", "-wal", "-shm"]) rmSync(`${journals.dbFile}${end}`, { force: true });
  await ingest();
  expect(dump()).toEqual(before);
  expect(readMirror(journals.dbFile)).toEqual(countRaw(journals.dataDir));
  const broken = join(journals.dataDir, "broken.db");
  writeFileSync(broken, "this is no database, and it is long enough to be read as one".repeat(100));
  await expect(ingestTraces({ dataDir: journals.dataDir, dbFile: broken })).rejects.toMatchObject({
    code: "storage",
    message: expect.stringContaining("delete it") as string,
  });
});

test("two ingests at one moment, from two processes, do not harm each other", async () => {
  for (let session = 0; session < 20; session++)
    journals.append(
      journals.file("harness", `s${session}`),
      ...Array.from({ length: 300 }, (_value, n) => line(session * 1000 + n, { session_id: `s${session}` })),
    );
  const cli = join(import.meta.dirname, "../../src/cli.ts");
  const children = [1, 2, 3].map(() =>
    spawn(process.execPath, [cli, "trace", "ingest", "--json"], {
      env: { PATH: process.env["PATH"], HARNAIS_DATA_DIR: journals.dataDir },
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  const outputs = await Promise.all(
    children.map(async (child) => {
      let text = "";
      child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
      const [code] = (await once(child, "close")) as [number];
      expect(code).toBe(0);
      return JSON.parse(text) as IngestReport;
    }),
  );
  expect(outputs.reduce((sum, report) => sum + report.harnessEvents, 0)).toBe(6000);
  expect(readMirror(journals.dbFile)).toEqual(countRaw(journals.dataDir));
});

test("lines of one millisecond keep the order of their file", async () => {
  const names = Array.from({ length: 500 }, (_value, n) => `turn ${(n * 7919) % 500}`);
  journals.append(sessionFile(), ...names.slice(0, 250).map((name, n) => line(1000 - n, { name })));
  await ingest();
  journals.append(sessionFile(), ...names.slice(250).map((name, n) => line(5000 - n, { name })));
  await ingest();
  expect(query(journals.dbFile, "SELECT name FROM harness_events WHERE session_id = 's1' ORDER BY ts").map((row) => row["name"])).toEqual(
    names,
  );
});

test("the three queries of the contract work as typed, also when phase_session comes last", async () => {
  const runFile = journals.file("run", "a1b2c3d4");
  writeRun(journals, "a1b2c3d4", [
    {
      calls: [
        { input: 1000, output: 500, end: "toolUse" },
        { input: 2000, output: 100 },
      ],
    },
  ]);
  const joining =
    readFileSync(runFile, "utf8")
      .split("\n")
      .find((text) => text.includes("phase_session")) ?? "";
  journals.edit(runFile, (text) => (text.includes("phase_session") ? undefined : text));
  await ingest();
  expect(query(journals.dbFile, "SELECT * FROM harness_by_phase")).toEqual([]);
  journals.append(runFile, `${joining}\n`);
  await ingest();
  expect(
    query(
      journals.dbFile,
      "SELECT phase_id, COUNT(*) AS n FROM harness_by_phase WHERE adw_id=(SELECT adw_id FROM runs ORDER BY started_at DESC LIMIT 1) GROUP BY phase_id ORDER BY phase_id",
    ),
  ).toEqual([{ phase_id: "a1b2c3d4-01", n: 7 }]);
  expect(
    query(
      journals.dbFile,
      "SELECT ts, name, json_extract(payload_json,'$.total_tokens') AS tokens, json_extract(payload_json,'$.cost_usd') AS usd FROM harness_by_phase WHERE phase_id='a1b2c3d4-01' AND type='assistant' ORDER BY ts",
    ).map(({ tokens, usd }) => [tokens, usd]),
  ).toEqual([
    [1500, 0.0105],
    [2100, 0.0075],
  ]);
  expect(
    query(
      journals.dbFile,
      "SELECT type, COUNT(*) AS n FROM harness_by_phase WHERE adw_id=(SELECT adw_id FROM runs ORDER BY started_at DESC LIMIT 1) GROUP BY type ORDER BY type",
    ),
  ).toEqual([
    { type: "assistant", n: 2 },
    { type: "prompt", n: 1 },
    { type: "session_shutdown", n: 1 },
    { type: "session_start", n: 1 },
    { type: "turn_start", n: 2 },
  ]);
  expect(query(journals.dbFile, "SELECT * FROM runs")).toMatchObject([
    { adw_id: "a1b2c3d4", adw_name: "prompt", request: "What?", status: "done", cost_usd: 0.018 },
  ]);
  expect(query(journals.dbFile, "SELECT phase_id, adw_id, seq, kind, status, attempts, retries FROM phases")).toEqual([
    { phase_id: "a1b2c3d4-01", adw_id: "a1b2c3d4", seq: 1, kind: "agent", status: "done", attempts: 1, retries: 2 },
  ]);
});

test("the self-test's figures", async () => {
  expect(await runSelftest()).toEqual({ ok: true, mirrored: 3, replayed: 0, joined: 2, tokens: 1500 });
});
