import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { Pool } from "pg";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { makeSnapshot } from "../../src/db/make-snapshot.ts";
import { openDatabase } from "../../src/db/open-database.ts";
import { openEmbedded } from "../../src/db/open-embedded.ts";
import { startPglite } from "../../src/db/pglite-host.ts";
import { PgliteStream } from "../../src/db/pglite-stream.ts";

const OWNER = join(dirname(fileURLToPath(import.meta.url)), "..", "fixtures", "database-owner.ts");

let dataDir: string;
beforeAll(() => makeSnapshot());
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "harnais-embedded-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const open = () => openDatabase({ dataDir, databaseUrl: undefined });

/** Another process that opens the base; its lines say how it went. */
function startOwner() {
  const child = spawn(process.execPath, [OWNER, dataDir], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<{ type: string; code?: string; message?: string; rows?: number }> =>
    JSON.parse((await lines.next()).value ?? '{"type":"gone"}');
  return { child, next, ended: new Promise((resolve) => child.once("exit", resolve)) };
}

test("the data folder is the user's only, out of git, and the base is there again at the next start", async () => {
  const first = await open();
  await sql`create table kept as select 42 as n`.execute(first.db);
  expect(JSON.parse(readFileSync(join(dataDir, "owner.json"), "utf8"))).toMatchObject({ pid: process.pid });
  expect(statSync(join(dataDir, "owner.json")).mode & 0o777).toBe(0o600);
  await first.close();
  await first.close();
  expect([statSync(dataDir).mode & 0o777, statSync(join(dataDir, "db")).mode & 0o777]).toEqual([0o700, 0o700]);
  expect(readFileSync(join(dataDir, ".gitignore"), "utf8")).toBe("*\n");
  expect(existsSync(join(dataDir, "owner.json"))).toBe(false);

  const second = await open();
  expect((await sql`select n from kept`.execute(second.db)).rows).toEqual([{ n: 42 }]);
  await second.close();
});

test("a second holder is refused at once, told whose it is and what to do", async () => {
  const owner = startOwner();
  expect(await owner.next()).toEqual({ type: "open" });
  await expect(open()).rejects.toThrow(
    expect.objectContaining({ code: "base-owned", message: expect.stringMatching(new RegExp(`pid ${owner.child.pid}\\b.*harnais serve`)) }),
  );
  owner.child.stdin.end("close\n");
  await owner.ended;
  await (await open()).close();
});

test("also within one process", async () => {
  const first = await open();
  await expect(open()).rejects.toThrow(expect.objectContaining({ code: "base-owned" }));
  await first.close();
});

test("an owner that is killed while it writes loses nothing it was told is stored, and the next one opens", async () => {
  const owner = startOwner();
  await owner.next();
  owner.child.stdin.write("write\n");
  let acknowledged = 0;
  while (acknowledged < 50) acknowledged = (await owner.next()).rows ?? 0;
  owner.child.kill("SIGKILL");
  await owner.ended;
  const database = await open();
  const { rows } = await sql<{ n: number }>`select count(*) as n from written`.execute(database.db);
  expect(rows[0]?.n).toBeGreaterThanOrEqual(acknowledged);
  await database.close();
});

test("ten that start at one moment on a new folder: each opens it alone or is refused", async () => {
  const owners = Array.from({ length: 10 }, startOwner);
  const outcomes = await Promise.all(
    owners.map(async ({ next, child, ended }) => {
      const outcome = await next();
      // Nobody lets go before all have tried.
      return { outcome, end: async () => (child.stdin.end("close\n"), ended) };
    }),
  );
  const kinds = outcomes.map(({ outcome }) => outcome.code ?? outcome.type).toSorted();
  expect(kinds).toEqual([...Array.from({ length: 9 }, () => "base-owned"), "open"]);
  await Promise.all(outcomes.map(({ end }) => end()));
});

test("a first start that was killed half-way leaves nothing that looks like a base", async () => {
  mkdirSync(join(dataDir, "db.999999.tmp", "base"), { recursive: true });
  await (await open()).close();
  expect(readdirSync(dataDir).toSorted()).toEqual([".gitignore", "db", "db.lock"]);
});

test("a snapshot is made once, by whoever comes first; without it the base is made the long way", async () => {
  const snapshot = join(dataDir, "cache", "pglite-test");
  await Promise.all([makeSnapshot(snapshot), makeSnapshot(snapshot)]);
  const before = statSync(join(snapshot, "PG_VERSION")).ino;
  await makeSnapshot(snapshot);
  expect(statSync(join(snapshot, "PG_VERSION")).ino).toBe(before);
  expect(readdirSync(join(dataDir, "cache")).toSorted()).toEqual(["pglite-test"]);
});

test("`db` inside its own transaction is told instead of waiting for ever, and the base goes on", async () => {
  const database = await open();
  const wrong = database.db.transaction().execute(async () => database.db.selectFrom("runs").select("runId").execute());
  await expect(wrong).rejects.toThrow("use the transaction's handle");
  // Not awaited inside: no deadlock, it comes after.
  let after: Promise<unknown> | undefined;
  await database.db.transaction().execute(async (transaction) => {
    after = database.db.selectFrom("runs").select("runId").execute();
    await transaction.selectFrom("runs").select("runId").execute();
  });
  expect(await after).toEqual([]);
  await database.close();
});

test("a base that a newer Harnais wrote is refused", async () => {
  const database = await open();
  await sql`insert into harnais.kysely_migration (name, timestamp) values ('9999-future', 'x')`.execute(database.db);
  await database.close();
  await expect(open()).rejects.toThrow(
    expect.objectContaining({ code: "database-newer", message: expect.stringContaining("9999-future") }),
  );
  await (await openEmbedded(dataDir)).close(); // the lock was given back
});

test("a folder that cannot be used is a clear error", async () => {
  const file = join(dataDir, "a-file");
  writeFileSync(file, "");
  await expect(openDatabase({ dataDir: join(file, "data"), databaseUrl: undefined })).rejects.toThrow(
    expect.objectContaining({ code: "storage", message: expect.stringContaining(join(file, "data")) }),
  );
});

test("a damaged base is a clear error and the lock is given back", async () => {
  await (await open()).close();
  writeFileSync(join(dataDir, "db", "global", "pg_control"), randomBytes(8192));
  const error: unknown = await open().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "storage", message: expect.stringContaining(join(dataDir, "db")) });
  expect(error).not.toHaveProperty("message", expect.stringContaining("make it writable"));
  rmSync(join(dataDir, "db"), { recursive: true });
  await (await open()).close();
});

test("a folder that the system refuses is told with the mend; a failure of another kind keeps its own words", async () => {
  const snapshot = join(dataDir, "a-file");
  writeFileSync(snapshot, "");
  writeFileSync(join(dataDir, "blocked"), "");
  await expect(openEmbedded(join(dataDir, "blocked", "data"))).rejects.toThrow(/make it writable/);
  // A snapshot that is a file is copied as one: what follows is not the disk's fault.
  const error: unknown = await openEmbedded(join(dataDir, "other"), { snapshot }).catch((reason: unknown) => reason);
  expect(String(error)).not.toContain("make it writable");
  rmSync(join(dataDir, "other"), { recursive: true });
  await (await openEmbedded(join(dataDir, "other"))).close();
});

test("when the thread dies every query is told, the waiting and the later ones; none hangs", async () => {
  const host = await startPglite(dataDir, new URL("../fixtures/dying-worker.ts", import.meta.url));
  const pool = new Pool({ max: 1, stream: () => new PgliteStream(host) });
  pool.on("error", () => undefined);
  const answers = await Promise.allSettled([pool.query("select 1"), pool.query("select 2"), host.execute(new Uint8Array(5))]);
  const told = expect.objectContaining({ message: expect.stringContaining("the embedded database stopped") });
  expect(answers).toEqual(answers.map(() => ({ status: "rejected", reason: told })));
  await expect(pool.query("select 3")).rejects.toThrow(/code 9/);
  await host.close();
  await pool.end();
});

test("an abort while it opens closes what was opened", async () => {
  const controller = new AbortController();
  const opening = openDatabase({ dataDir, databaseUrl: undefined }, controller.signal);
  controller.abort(new Error("never mind"));
  await expect(opening).rejects.toThrow("never mind");
  await (await open()).close();
});
