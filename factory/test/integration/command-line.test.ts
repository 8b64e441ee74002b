import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunReportSchema } from "@harnais/contracts/run-report.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { loadConfig } from "../../src/config.ts";
import { createApi } from "../../src/http/api-client.ts";
import { startInProcess } from "../../src/start-factory.ts";
import { runCommandLine, startCommand } from "./support/command-line.ts";
import { makeSampleRepository, readJsonl, runGit } from "./support/running-factory.ts";

let root: string;
let plume: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "harnais-cli-"));
  plume = makeSampleRepository(join(root, "plume"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const dataDir = (name: string): Record<string, string> => ({ HARNAIS_DATA_DIR: join(root, `data-${name}`) });
const run = (args: string[], env: Record<string, string>, cwd = plume) => runCommandLine(args, { cwd, env });

describe("wrong usage ends with 2 and says what", () => {
  test.each([
    [["nonsense"], "unknown command nonsense"],
    [["projects", "nonsense"], "unknown command nonsense"],
    [["run"], "WORKFLOW"],
    [["run", "prompt"], "INPUT"],
    [["run", "prompt", "x", "--modle", "y"], "unknown option --modle"],
    [["run", "prompt", "   "], "input: must not be empty"],
    [["run", "prompt", "x", "--model", "nomodel"], "model: is provider/id"],
    [["run", "prompt", "x", "--agent", "cursor"], "agent:"],
    [["runs", "--status", "odd"], "status:"],
    [["serve", "--port", "99999"], "port:"],
    [["ask", "x", "--intent", "odd"], "intent:"],
  ])("%j", async (args, says) => {
    const { exitCode, stderr, stdout } = await run(args, dataDir("usage"));
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(says);
    expect(stderr).not.toMatch(/\n {4}at /);
  });

  test("help and version are no errors", async () => {
    const help = await run(["--help"], dataDir("usage"));
    expect(help.exitCode).toBe(0);
    expect(help.stdout).toContain("doctor");
    expect((await run(["run", "--help"], dataDir("usage"))).stdout).toContain("--project");
    expect((await run(["--version"], dataDir("usage"))).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("bad input and missing parts", () => {
  test("a folder that is no repository", async () => {
    const { exitCode, stderr } = await run(["run", "change", "x"], dataDir("a"), root);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("[not-a-repository]");
  });

  test("a repository without a commit", async () => {
    const empty = join(root, "empty");
    mkdirSync(empty);
    runGit(empty, ["init", "--quiet", "--initial-branch=main"]);
    const { exitCode, stderr } = await run(["run", "change", "x"], dataDir("a"), empty);
    expect([exitCode, stderr.includes("no commit on main yet")]).toEqual([2, true]);
  });

  test("a data folder that can never be made", async () => {
    const { exitCode, stderr } = await run(["runs"], { HARNAIS_DATA_DIR: "/proc/harnais/data" });
    expect([exitCode, stderr.includes("[storage]")]).toEqual([4, true]);
  });

  test("an unknown workflow, an unknown project, an unknown model", async () => {
    const unknown = await run(["run", "nothing", "x"], dataDir("a"));
    expect([unknown.exitCode, unknown.stderr.includes("[unknown-workflow]")]).toEqual([2, true]);
    const project = await run(["run", "prompt", "x", "--project", "nope"], dataDir("a"));
    expect([project.exitCode, project.stderr.includes("[not-found]")]).toEqual([2, true]);
    const model = await run(["run", "prompt", "x", "--model", "rehearsal/nope"], dataDir("a"));
    expect([model.exitCode, model.stderr.includes("[unknown-model]")]).toEqual([2, true]);
    const provider = await run(["run", "prompt", "x", "--model", "nobody/x"], dataDir("a"));
    expect([provider.exitCode, provider.stderr.includes("[unknown-provider]")]).toEqual([2, true]);
  });

  test("a missing pi is a missing part, not a failure of the work", async () => {
    const { exitCode, stderr } = await run(["run", "prompt", "x"], { ...dataDir("a"), HARNAIS_PI: join(root, "no-pi") });
    expect(exitCode).toBe(4);
    expect(stderr).toContain("no-pi");
    const doctor = await run(["doctor"], { ...dataDir("a"), HARNAIS_PI: join(root, "no-pi") });
    expect(doctor.exitCode).toBe(1);
    expect(doctor.stdout).toMatch(/missing\s+pi/);
  });

  test("an impossible configuration names the variable", async () => {
    const port = await run(["runs"], { ...dataDir("a"), HARNAIS_PORT: "many" });
    expect([port.exitCode, port.stderr.includes("HARNAIS_PORT")]).toEqual([2, true]);
    const url = await run(["runs"], { ...dataDir("a"), DATABASE_URL: "mysql://x" });
    expect([url.exitCode, url.stderr.includes("DATABASE_URL")]).toEqual([2, true]);
    const file = await run(["runs"], { ...dataDir("a"), HARNAIS_ENV_FILE: join(root, "none.env") });
    expect([file.exitCode, file.stderr.includes("HARNAIS_ENV_FILE")]).toEqual([2, true]);
  });

  test("a database server that does not answer, without its password in the message", async () => {
    const { exitCode, stderr } = await run(["runs"], { ...dataDir("a"), DATABASE_URL: "postgres://me:hush-hush@127.0.0.1:9/none" });
    expect(exitCode).toBe(4);
    expect(stderr).toContain("127.0.0.1:9");
    expect(stderr).not.toContain("hush-hush");
  });

  test("a data folder that cannot be made", async () => {
    writeFileSync(join(root, "a-file"), "");
    const { exitCode, stderr } = await run(["runs"], { HARNAIS_DATA_DIR: join(root, "a-file", "data") });
    expect([exitCode, stderr.includes("[storage]")]).toEqual([4, true]);
  });

  test("a corrupt scenario names file and field", async () => {
    const scenarios = join(root, "scenarios");
    mkdirSync(scenarios);
    writeFileSync(join(scenarios, "broken.yaml"), "name: broken\nrules:\n  - when: {}\n    than: {text: x}\n");
    const { exitCode, stderr } = await run(["run", "prompt", "x", "--model", "rehearsal/broken"], {
      ...dataDir("a"),
      HARNAIS_SCENARIOS: scenarios,
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("broken.yaml");
    expect(stderr).toContain("[bad-scenario]");
  });

  test("a port in use", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const { exitCode, stderr } = await run(["serve", "--port", String(port)], dataDir("port"));
    server.close();
    expect([exitCode, stderr.includes("[port-in-use]")]).toEqual([4, true]);
  });
});

describe("run", () => {
  test("--json prints one document on standard output, progress goes to standard error", async () => {
    const { exitCode, stdout, stderr } = await run(["run", "prompt", "Que fait ce projet ?", "--json"], dataDir("json"));
    expect(exitCode).toBe(0);
    const report = RunReportSchema.parse(JSON.parse(stdout));
    expect(report).toMatchObject({ status: "done", rehearsal: true });
    expect(stderr).toContain(`[${report.runId}] prompt (agent, attempt 1/3): OK in `);
    expect(stderr).toMatch(/run green — total ~\$0\.\d{4} \(rehearsal\)/);
    const shown = await run(["show", report.runId, "--json"], dataDir("json"));
    expect(RunReportSchema.parse(JSON.parse(shown.stdout)).phases).toEqual(report.phases);
    const listed = await run(["runs"], dataDir("json"));
    expect(listed.stdout).toContain(report.runId);
  });

  test("Ctrl-C cancels the run and ends with 130", async () => {
    const { child, end, stderr } = startCommand(["run", "prompt", "x", "--model", "rehearsal/stall", "--json"], {
      cwd: plume,
      env: dataDir("int"),
    });
    await expect.poll(stderr, { timeout: 30_000 }).toContain("attempt 1/");
    child.kill("SIGINT");
    const { exitCode, stdout } = await end;
    expect(exitCode).toBe(130);
    expect(RunReportSchema.parse(JSON.parse(stdout))).toMatchObject({ status: "cancelled", cause: "cancelled" });
  });

  test("text of a model cannot move the cursor; a workflow that ends the process is not done", async () => {
    const scenarios = join(root, "odd-scenarios");
    mkdirSync(scenarios);
    writeFileSync(
      join(scenarios, "bell.yaml"),
      JSON.stringify({ name: "bell", rules: [{ when: {}, then: { text: "a\u001b]0;title\u0007b" } }] }),
    );
    const said = await run(["run", "prompt", "x", "--model", "rehearsal/bell"], { ...dataDir("odd"), HARNAIS_SCENARIOS: scenarios });
    expect([said.exitCode, said.stdout]).toEqual([0, "a\ufffd]0;title\ufffdb\n"]);

    const project = makeSampleRepository(join(root, "exits"));
    mkdirSync(join(project, ".harnais", "workflows"), { recursive: true });
    writeFileSync(
      join(project, ".harnais", "workflows", "exits.ts"),
      "export default async (run) => { await run.code('e', async () => process.exit(0)); };",
    );
    await run(["run", "prompt", "x", "--model", "rehearsal/bell"], { ...dataDir("odd"), HARNAIS_SCENARIOS: scenarios }, project);
    const config = loadConfig({ env: { PATH: process.env["PATH"], ...dataDir("odd") }, cwd: project });
    const connection = await startInProcess(config, { carriesOutRuns: false });
    await createApi(connection).post("/api/projects/exits/trust", { file: "exits.ts" }, z.unknown());
    await connection.close();
    const ended = await run(["run", "exits", "x", "--json"], dataDir("odd"), project);
    expect(ended.exitCode).toBe(1);
    expect(ended.stderr).toContain("does a workflow call process.exit?");
  });

  test("a red run ends with 1 and says where it stopped", async () => {
    const { exitCode, stderr } = await run(["run", "change", "x", "--model", "rehearsal/refused"], dataDir("red"));
    expect(exitCode).toBe(1);
    expect(stderr).toContain("FAILED in phase plan, run stopped");
    expect(runGit(plume, ["worktree", "list"]).split("\n")).toHaveLength(1);
  });

  test("uncommitted changes are said, and are not part of the run", async () => {
    writeFileSync(join(plume, "scratch.txt"), "mine\n");
    const { exitCode, stderr } = await run(["run", "change", "Ajoute l'année en cours au pied de page"], dataDir("dirty"));
    rmSync(join(plume, "scratch.txt"));
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/1 uncommitted changes are not part of this run \(base main@[0-9a-f]{7,}\)/);
  });
});

describe("serve", () => {
  test("is found by commands, carries out requests, and stops cleanly on SIGTERM", async () => {
    const env = dataDir("serve");
    const { child, end, stderr } = startCommand(["serve", "--port", "0"], { cwd: plume, env });
    await expect.poll(stderr, { timeout: 30_000 }).toContain("harnais serves at http://localhost:");
    const file = join(root, "data-serve", "server.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const asked = await run(["ask", "Que fait ce projet ?", "--intent", "question", "--json"], env);
    expect(asked.exitCode).toBe(0);
    const report = RunReportSchema.parse(JSON.parse(asked.stdout));
    expect(report).toMatchObject({ status: "done", workflow: "prompt" });
    expect(report.requestId).toMatch(/^req_/);
    const detached = await run(["ask", "Et les tests ?", "--intent", "question", "--detach"], env);
    expect(detached.stdout.trim()).toMatch(/^[0-9a-f]{8}$/);
    child.kill("SIGTERM");
    expect((await end).exitCode).toBe(0);
    expect(existsSync(file)).toBe(false);
    const runs = await run(["runs", "--json"], env);
    const { items } = JSON.parse(runs.stdout) as { items: { status: string }[] };
    expect(items.map(({ status }) => status).toSorted()).not.toContain("running");
  });

  test("killed in a run, its next start ends the agent and the run, and the journal says so", async () => {
    const env = dataDir("killed");
    const first = startCommand(["serve", "--port", "0"], { cwd: plume, env });
    await expect.poll(first.stderr, { timeout: 30_000 }).toContain("harnais serves at");
    const asked = startCommand(["run", "prompt", "x", "--model", "rehearsal/stall"], { cwd: plume, env });
    await expect.poll(asked.stderr, { timeout: 30_000 }).toContain("attempt 1/");
    const runId = /\[([0-9a-f]{8})\]/.exec(asked.stderr())?.[1] ?? "";
    first.child.kill("SIGKILL");
    await first.end;
    asked.child.kill("SIGKILL");
    await asked.end;
    const shown = await run(["run", "prompt", "Et maintenant ?"], env);
    expect(shown.exitCode).toBe(0);
    const report = RunReportSchema.parse(JSON.parse((await run(["show", runId, "--json"], env)).stdout));
    expect(report).toMatchObject({ status: "failed", cause: "crashed" });
    expect(report.phases[0]).toMatchObject({ status: "interrupted" });
    const types = readJsonl<{ type: string }>(join(root, "data-killed", "traces", `${runId}.jsonl`)).map(({ type }) => type);
    expect(types.slice(-3)).toEqual(["phase_attempt", "phase_end", "run_finish"]);
    expect(readFileSync(join(root, "data-killed", "traces", `${runId}.jsonl`), "utf8").endsWith("\n")).toBe(true);
  });
});
