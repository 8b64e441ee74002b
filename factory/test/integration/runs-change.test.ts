import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openFactory, type RunningFactory, runGit } from "./support/running-factory.ts";

let factory: RunningFactory;
beforeAll(async () => {
  factory = await openFactory();
});
afterAll(() => factory.close());

const SENTENCE = "Ajoute l'année en cours au pied de page";

/** Exit code of the sample's own tests in a clean clone of a commit. */
function testsOf(repo: string, commit: string): number {
  const folder = mkdtempSync(join(tmpdir(), "harnais-clone-"));
  try {
    runGit(folder, ["clone", "--quiet", repo, "clone"]);
    const clone = join(folder, "clone");
    runGit(clone, ["fetch", "--quiet", "origin", commit]);
    runGit(clone, ["checkout", "--quiet", commit]);
    execFileSync(process.execPath, ["--test"], { cwd: clone, stdio: "ignore", env: { PATH: process.env["PATH"] } });
    return 0;
  } catch (error) {
    return (error as { status?: number }).status ?? -1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("change", () => {
  test("a red validation is corrected in the live session, then committed", async () => {
    const runId = await factory.start({ workflow: "change", input: SENTENCE });
    const report = await factory.finished(runId);

    expect(report).toMatchObject({ status: "done", rehearsal: true, level: "none", branch: `harnais/${runId}` });
    expect(report.phases.map(({ name, status }) => [name, status])).toEqual([
      ["worktree", "done"],
      ["plan", "done"],
      ["build", "done"],
      ["validate", "done"],
      ["validate", "done"],
      ["commit", "done"],
    ]);
    const build = report.phases.find(({ name }) => name === "build");
    expect(build?.attempts.map(({ attempt, status, label }) => [attempt, status, label])).toEqual([
      [1, "done", "agent"],
      [2, "done", "validation-repair"],
    ]);
    const [checkpoint] = build?.attempts.map((attempt) => attempt.checkpoint) ?? [];
    expect(testsOf(factory.plume, checkpoint ?? "")).not.toBe(0);
    expect(testsOf(factory.plume, report.commit ?? "")).toBe(0);

    // One session, two processes: the correction went on in the live session.
    expect(build?.sessions).toHaveLength(1);
    const lines = factory.harness(build?.sessions[0] ?? "");
    const pids = lines.filter(({ type }) => type === "session_start").map(({ payload }) => payload["pid"]);
    expect(new Set(pids).size).toBe(2);
    const sessions = factory.events(runId).filter(({ type, phase_id: phaseId }) => type === "phase_session" && phaseId === build?.phaseId);
    expect(sessions).toHaveLength(1);

    expect(factory.git("status", "--porcelain")).toBe("");
    expect(factory.git("worktree", "list").split("\n")).toHaveLength(1);
    expect(factory.git("log", "-1", "--format=%(trailers)", `harnais/${runId}`)).toContain(`Harnais-Run: ${runId}`);
  });

  test("a run that never gets green fails with its cause, and leaves no worktree and no commit", async () => {
    const runId = await factory.start({ workflow: "change", input: "Rends la page d'accueil plus rapide", model: "rehearsal/never-green" });
    const report = await factory.finished(runId);

    expect([report.status, report.cause]).toEqual(["failed", "validation"]);
    expect(report.reason).toContain("validation is still red after 3 corrections");
    expect(report.phases.find(({ name }) => name === "build")?.attempts.map(({ label }) => label)).toEqual([
      "agent",
      "validation-repair",
      "validation-repair",
      "validation-repair",
    ]);
    expect(report.commit).toBeUndefined();
    expect(factory.git("worktree", "list").split("\n")).toHaveLength(1);
    expect(factory.git("rev-parse", `harnais/${runId}`)).toBe(factory.git("rev-parse", "main"));
  });

  test("a secret in the work refuses the commit, naming file and line", async () => {
    const runId = await factory.start({ workflow: "change", input: "Ajoute un jeton de test", model: "rehearsal/secret" });
    const report = await factory.finished(runId);

    expect(report).toMatchObject({ status: "failed" });
    expect(report.reason).toMatch(/:\d+/);
    expect(factory.git("rev-parse", `harnais/${runId}`)).toBe(factory.git("rev-parse", "main"));
  });

  test("cancelling a live run ends its agent and settles as cancelled", async () => {
    const runId = await factory.start({ workflow: "change", input: "Attends", model: "rehearsal/stall" });
    await expect.poll(() => factory.events(runId).some(({ type }) => type === "attempt_start"), { timeout: 30_000 }).toBe(true);
    const response = await factory.send(`/api/runs/${runId}/cancel`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ reason: "not wanted" }),
    });
    expect(response.status).toBe(202);
    const report = await factory.finished(runId);
    expect(report).toMatchObject({ status: "cancelled", cause: "cancelled", reason: "not wanted" });
    expect(factory.git("worktree", "list").split("\n")).toHaveLength(1);
  });
});
