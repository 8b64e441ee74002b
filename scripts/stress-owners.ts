import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PGlite } from "@electric-sql/pglite";
import { amcheck } from "@electric-sql/pglite/contrib/amcheck";

// Ten `harnais run prompt` at one moment on a new data folder, again and again: each is done or refused with 4, the
// base has one holder at a time and is whole afterwards; and after its owner is killed the next opens within 5 s.
//   node scripts/stress-owners.ts [--rounds 20] [--commands 10]

const { values } = parseArgs({ options: { rounds: { type: "string", default: "20" }, commands: { type: "string", default: "10" } } });
const ROOT = join(import.meta.dirname, "..");
const CLI = join(ROOT, "factory", "src", "cli.ts");
const REOPEN_MS = 5_000;

const root = mkdtempSync(join(tmpdir(), "harnais-stress-"));
const plume = join(root, "plume");
cpSync(join(ROOT, "factory", "sample-project"), plume, { recursive: true });
for (const args of [
  ["init", "-q", "-b", "main"],
  ["add", "-A"],
  ["-c", "user.name=s", "-c", "user.email=s@example.com", "commit", "-qm", "x"],
]) {
  await once(spawn("git", args, { cwd: plume, stdio: "ignore" }), "exit");
}

let faults = 0;
for (let round = 1; round <= Number(values.rounds); round++) {
  const dataDir = join(root, `data-${round}`);
  const ends = await Promise.all(Array.from({ length: Number(values.commands) }, () => run(["run", "prompt", "What is this?"], dataDir)));
  const done = ends.filter(({ code }) => code === 0).length;
  const refused = ends.filter(({ code }) => code === 4).length;
  const odd = ends.filter(({ code }) => code !== 0 && code !== 4);
  const corrupt = await amcheckFaults(join(dataDir, "db"));
  const reopenMs = await killOwner(dataDir);
  const isGood = odd.length === 0 && done >= 1 && corrupt.length === 0 && reopenMs <= REOPEN_MS;
  if (!isGood) faults++;
  process.stdout.write(
    `round ${round}: ${done} done, ${refused} refused, ${odd.length} odd; amcheck ${corrupt.length === 0 ? "clean" : corrupt.join("; ")}; next opens ${Math.round(reopenMs)} ms after kill -9${isGood ? "" : "  <-- FAULT"}\n`,
  );
  for (const { code, stderr } of odd) process.stdout.write(`  exit ${code}: ${stderr.trim().split("\n").at(-1)}\n`);
  rmSync(dataDir, { recursive: true, force: true });
}
rmSync(root, { recursive: true, force: true });
process.stdout.write(faults === 0 ? "all rounds good\n" : `${faults} rounds with a fault\n`);
process.exit(faults === 0 ? 0 : 1);

function start(args: readonly string[], dataDir: string) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, HARNAIS_DATA_DIR: dataDir };
  return spawn(process.execPath, [CLI, ...args], { cwd: plume, env, stdio: ["ignore", "ignore", "pipe"] });
}

async function run(args: readonly string[], dataDir: string): Promise<{ code: number | null; stderr: string }> {
  const child = start(args, dataDir);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stderr };
}

/** Every index and heap of the base, by amcheck; what it complains of. */
async function amcheckFaults(dbDir: string): Promise<string[]> {
  const base = await PGlite.create(dbDir, { extensions: { amcheck } });
  try {
    await base.exec("create extension if not exists amcheck");
    const indexes = await base.query<{ name: string }>(
      "select c.oid::regclass::text as name from pg_class c join pg_am a on a.oid = c.relam where a.amname = 'btree' and c.relkind = 'i'",
    );
    const tables = await base.query<{ name: string }>(
      "select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and n.nspname = 'harnais'",
    );
    const faults: string[] = [];
    for (const { name } of indexes.rows) {
      await base
        .query("select bt_index_check($1::regclass, true)", [name])
        .catch((error: Error) => faults.push(`${name}: ${error.message}`));
    }
    for (const { name } of tables.rows) {
      const { rows } = await base.query<{ msg: string }>("select msg from verify_heapam($1::regclass)", [name]);
      faults.push(...rows.map(({ msg }) => `${name}: ${msg}`));
    }
    return faults;
  } finally {
    await base.close();
  }
}

/** A server is killed while it owns the base; how long the next command takes until it has opened it. */
async function killOwner(dataDir: string): Promise<number> {
  const server = start(["serve", "--port", "0"], dataDir);
  let stderr = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  for (let tries = 0; tries < 600 && !stderr.includes("harnais serves"); tries++) await new Promise((resolve) => setTimeout(resolve, 100));
  server.kill("SIGKILL");
  await once(server, "exit");
  const killedAt = performance.now();
  const { code } = await run(["runs"], dataDir);
  return code === 0 ? performance.now() - killedAt : Number.POSITIVE_INFINITY;
}
