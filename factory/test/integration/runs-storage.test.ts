import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunReportSchema } from "@harnais/contracts/run-report.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCommandLine, startCommand } from "./support/command-line.ts";
import { makeSampleRepository, runGit } from "./support/running-factory.ts";

/** Small file systems can be mounted: root on Linux. */
const canMount = ((): boolean => {
  const folder = mkdtempSync(join(tmpdir(), "harnais-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
})();

let root: string;
let plume: string;
let mounted: string | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "harnais-storage-"));
  plume = makeSampleRepository(join(root, "plume"));
});
afterEach(() => {
  if (mounted !== undefined) execFileSync("umount", [mounted]);
  mounted = undefined;
  rmSync(root, { recursive: true, force: true });
});

/** A small file system for one folder of the data folder. */
function mountSmall(folder: string, options: string): void {
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder]);
  mounted = folder;
}

/** Leaves no block free. */
function fill(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, "filler"), Buffer.alloc(bavail * bsize));
}

const prompt = () =>
  runCommandLine(["run", "prompt", "Que fait ce projet ?", "--json"], { cwd: plume, env: { HARNAIS_DATA_DIR: join(root, "data") } });

describe.runIf(canMount || process.env["HARNAIS_REQUIRE"] === "all")("a disk that is full or read-only", () => {
  test("for the harness trace costs the trace, not the work, and says so once", async () => {
    const harness = join(root, "data", "traces", "harness");
    mountSmall(harness, "size=64k");
    fill(harness);
    const { exitCode, stdout } = await prompt();
    const report = RunReportSchema.parse(JSON.parse(stdout));
    expect([exitCode, report.status]).toEqual([0, "done"]);
    const { attempt } = report.phases[0]?.attempts[0] ?? {};
    const said = readFileSync(join(root, "data", "logs", `${report.phases[0]?.phaseId}-a${attempt}.stderr.log`), "utf8");
    expect(said.match(/harnais-trace/g)).toHaveLength(1);
    const last = await runCommandLine(["trace", "last"], { cwd: plume, env: { HARNAIS_DATA_DIR: join(root, "data") } });
    expect(last.stdout).toContain("no harness trace");
  });

  test("for the bills lets no model call go up: the run fails, cause storage", async () => {
    const bills = join(root, "data", "traces", "bills");
    mountSmall(bills, "size=64k");
    fill(bills);
    const { exitCode, stdout } = await prompt();
    const report = RunReportSchema.parse(JSON.parse(stdout));
    expect([exitCode, report.status, report.cause]).toEqual([1, "failed", "storage"]);
    for (const file of readdirSync(bills).filter((name) => name.endsWith(".jsonl"))) {
      expect(readFileSync(join(bills, file), "utf8")).toMatch(/^(\{.*\}\n)*$/);
    }
  });

  test("that fills up in a run ends it, cause storage, with no half line; the database has its end", async () => {
    const traces = join(root, "data", "traces");
    mountSmall(traces, "size=512k");
    const env = { HARNAIS_DATA_DIR: join(root, "data") };
    const { end, stderr } = startCommand(["run", "change", "Ajoute l'année en cours au pied de page", "--json"], { cwd: plume, env });
    await expect.poll(stderr, { timeout: 60_000 }).toContain("plan: attempt 1/");
    fill(traces);
    const { exitCode, stdout } = await end;
    expect([exitCode, RunReportSchema.parse(JSON.parse(stdout))]).toMatchObject([1, { status: "failed", cause: "storage" }]);
    const [journal = ""] = readdirSync(traces).filter((name) => name.endsWith(".jsonl"));
    expect(readFileSync(join(traces, journal), "utf8")).toMatch(/^(\{.*\}\n)*$/);
    rmSync(join(traces, "filler"));
    expect(runGit(plume, ["worktree", "list"]).split("\n")).toHaveLength(1);
  });

  test("for the runner's journal refuses the run before it starts", async () => {
    const traces = join(root, "data", "traces");
    mountSmall(traces, "size=512k");
    for (const folder of ["harness", "bills"]) mkdirSync(join(traces, folder), { recursive: true });
    fill(traces);
    const { exitCode, stdout, stderr } = await prompt();
    expect([exitCode, stdout, stderr.includes("[storage]")]).toEqual([4, "", true]);
    for (const file of readdirSync(traces).filter((name) => name.endsWith(".jsonl"))) {
      expect(readFileSync(join(traces, file), "utf8")).toMatch(/^(\{.*\}\n)*$/);
    }
  });

  test("read-only for the harness trace: the same as full", async () => {
    mountSmall(join(root, "data", "traces", "harness"), "size=64k,ro");
    const { exitCode, stdout } = await prompt();
    expect([exitCode, RunReportSchema.parse(JSON.parse(stdout)).status]).toEqual([0, "done"]);
  });
});
