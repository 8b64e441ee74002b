import { toRequestLine } from "@harnais/contracts/request-line.ts";
import { readdirSync, readFileSync } from "node:fs";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseScenario } from "../../src/llm-proxy/rehearsal/parse-scenario.ts";
import type { Scenario } from "../../src/llm-proxy/rehearsal/scenario.ts";
import { createRedactor } from "../../src/lib/redaction.ts";
import { createWorkbench } from "../../src/projects/run-workbench.ts";
import { createSecretScanner } from "../../src/projects/secret-patterns.ts";
import { createProjectBench, ROOT_DIR } from "./support/project-bench.ts";
import type { ProjectBench } from "./support/project-bench.ts";
import { createScenarioAgent } from "./support/scenario-agent.ts";

const FOLDER = join(ROOT_DIR, "factory", "scenarios");
const RUN_ID = "a1b2c3d4";
// Without npm: it costs a second each time, and there are many.
const VALIDATION = ["node --test"];

const loadScenario = (name: string): Scenario => parseScenario(readFileSync(join(FOLDER, `${name}.yaml`), "utf8"), `${name}.yaml`);

/** The steps of `change`, with the scenario's agent in the place of pi. */
async function startChange(bench: ProjectBench, { scenario, request, repo }: { scenario: Scenario; request: string; repo: string }) {
  const { redact } = createRedactor({ knownSecrets: [] });
  const workbench = createWorkbench({
    git: bench.git,
    launcher: bench.launcher,
    config: bench.config,
    scanner: createSecretScanner({ knownSecrets: [] }),
    redact,
    warn: (error) => expect.fail(String(error)),
  });
  const project = { id: "plume", name: "plume", repo, baseBranch: "main", validation: VALIDATION, validationAttempts: 3 };
  const { path: cwd, branch } = await workbench.open(project, RUN_ID, bench.signal);
  const plan = createScenarioAgent(scenario, { system: "You are a coding agent.\nharnais phase: plan", cwd });
  const planText = plan.say(`Plan the change.\n\n${toRequestLine(request)}\n\nRead the files.`);
  const build = createScenarioAgent(scenario, { system: "You are a coding agent.\nharnais phase: build", cwd });
  const attempt1 = build.say(`Carry out this change.\n\n${toRequestLine(request)}\n\nThe plan:\n${planText}`);
  const checkpoint = await workbench.keep({ cwd, runId: RUN_ID, phaseName: "build", attempt: 1 });
  const validate = () => workbench.validate({ project, cwd, runId: RUN_ID, request }, bench.signal);
  const commit = () => workbench.commit({ cwd, runId: RUN_ID, phaseId: `${RUN_ID}-04`, request, author: "Atlas (pi)" }, bench.signal);
  return { workbench, project, cwd, branch, planText, build, attempt1, checkpoint, validate, commit };
}

/** Runs the tests of `commit` in a clean clone. */
async function testClone(
  bench: ProjectBench,
  { repo, commit, name }: { repo: string; commit: string; name: string },
): Promise<number | null> {
  const clone = join(bench.dir, name);
  await mkdir(clone);
  await bench.run(clone, "init", "--quiet");
  await bench.run(clone, "fetch", "--quiet", "--depth=1", repo, commit);
  await bench.run(clone, "checkout", "--quiet", "--detach", "FETCH_HEAD");
  const env = { ...bench.config.baseEnv, HOME: clone };
  const result = await bench.launcher.runCommand({ file: "node", args: ["--test"] }, { cwd: clone, env, timeoutMs: 60_000 }, bench.signal);
  return result.exitCode;
}

test("every shipped scenario is valid, is named like its file, and holds nothing that looks like a secret", async () => {
  const files = readdirSync(FOLDER);
  expect(files.length).toBeGreaterThan(10);
  const scanner = createSecretScanner({ knownSecrets: [] });
  for (const file of files) {
    const text = readFileSync(join(FOLDER, file), "utf8");
    expect(`${parseScenario(text, file).name}.yaml`).toBe(file);
    expect(await scanner.find(text, file)).toEqual([]);
  }
});

const SENTENCES = [
  "Ajoute l'année en cours au pied de page",
  "Add the current year to the footer, please",
  `He said "it's \\done\\" & <b>left</b> $HOME \${request} $& $1 \`rm -rf\` ; # ## > -- {{x}} %s`,
  "## Source: everything",
  "- une liste ? Ça va : élève, œuf, 日本語, 🪶",
  "--x Request: Request: again, The validation is red",
];

test.each(SENTENCES)(
  "demo: the first attempt leaves a test red, the correction mends it, the sentence is in the commit: %s",
  async (request) => {
    const bench = await createProjectBench();
    const { path: repo } = await bench.sample();
    const change = await startChange(bench, { scenario: loadScenario("demo"), request, repo });
    expect(JSON.parse(change.planText)).toMatchObject({
      summary: expect.any(String),
      steps: expect.any(Array),
      files: [expect.any(String)],
    });
    const red = await change.validate();
    expect(red.ok).toBe(false);
    expect(red.correction).toMatch(/^The validation is red/);
    expect(red.correction).toContain(`\nRequest: ${request}\n`);
    change.build.say(red.correction);
    expect(await change.validate()).toMatchObject({ ok: true });
    const { commit, files } = await change.commit();
    expect(files).toHaveLength(1);
    await change.workbench.close(change.project, change.cwd);
    expect(await bench.run(repo, "show", "--format=%an <%ae>%n%B", `harnais/${RUN_ID}`)).toContain(request);
    expect(await testClone(bench, { repo, commit: String(change.checkpoint), name: "attempt-1" })).toBe(1);
    expect(await testClone(bench, { repo, commit, name: "result" })).toBe(0);
    expect(await bench.run(repo, "status", "--porcelain")).toBe("");
    expect(await bench.run(repo, "worktree", "list", "--porcelain")).not.toContain(RUN_ID);
  },
);

test("demo: the year is computed in the end, and said in the request's language", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  const change = await startChange(bench, { scenario: loadScenario("demo"), request: SENTENCES[0] ?? "", repo });
  expect(change.attempt1).toBe("C'est fait : le pied de page porte l'année.");
  expect(change.build.say((await change.validate()).correction)).toMatch(/^Corrigé/);
  expect(await readFile(join(change.cwd, "src", "footer.js"), "utf8")).toContain('"© " + new Date().getFullYear()');
});

test("demo: an attempt that goes on after an interrupt does not do its change twice", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  const request = "Twice is once too many";
  const change = await startChange(bench, { scenario: loadScenario("demo"), request, repo });
  change.build.say(
    `The previous attempt failed, and its work so far is still in place.\nReason: crashed\n${toRequestLine(request)}\nGo on.`,
  );
  const notes = await readFile(join(change.cwd, "content", "notes.md"), "utf8");
  expect(notes.split(request)).toHaveLength(2);
});

test("demo: a second run on top of the first one's change works as well", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  for (const request of [SENTENCES[0] ?? "", SENTENCES[2] ?? "", SENTENCES[2] ?? "", "Add the current year to the footer"]) {
    const change = await startChange(bench, { scenario: loadScenario("demo"), request, repo });
    change.build.say((await change.validate()).correction);
    expect(await change.validate()).toMatchObject({ ok: true });
    await change.commit();
    await change.workbench.close(change.project, change.cwd);
    await bench.run(repo, "merge", "--quiet", "--ff-only", `harnais/${RUN_ID}`);
    await bench.run(repo, "branch", "--delete", `harnais/${RUN_ID}`);
  }
});

test("demo: on another project the request gets a file of its own", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  await bench.run(repo, "rm", "--quiet", "-r", "content", "test", "src");
  await writeFile(join(repo, "package.json"), '{ "scripts": { "test": "true" } }');
  await appendFile(join(repo, "README.md"), "\n");
  await bench.run(repo, "-c", "user.name=x", "-c", "user.email=x@y.invalid", "commit", "--quiet", "--all", "-m", "another project");
  for (const request of ["Do it", "Ajoute l'année en cours au pied de page"]) {
    const change = await startChange(bench, { scenario: loadScenario("demo"), request, repo });
    expect(await change.validate()).toMatchObject({ ok: true });
    expect((await change.commit()).files).toEqual(["docs/harnais-request.md"]);
    await change.workbench.close(change.project, change.cwd);
    await bench.run(repo, "branch", "--delete", "--force", `harnais/${RUN_ID}`);
  }
});

test("demo: a question is answered in its language, from the README", async () => {
  const bench = await createProjectBench();
  const { path: cwd } = await bench.sample();
  const ask = (user: string) => createScenarioAgent(loadScenario("demo"), { system: "harnais phase: prompt", cwd }).say(user);
  expect(ask("Que fait ce projet ?")).toMatch(/^D'après son README, ce projet est « Plume »/);
  expect(ask("What does this project do?")).toMatch(/^Its README calls this project "Plume"/);
});

test("never-green: no correction makes the tests pass", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  const change = await startChange(bench, { scenario: loadScenario("never-green"), request: "Anything", repo });
  for (let correction = 0; correction < 3; correction++) {
    const verdict = await change.validate();
    expect(verdict.ok).toBe(false);
    change.build.say(verdict.correction);
  }
  expect(await change.validate()).toMatchObject({ ok: false, summary: "node --test ended with exit code 1" });
});

test("secret: the tests pass, but the commit is refused, naming file and line", async () => {
  const bench = await createProjectBench();
  const { path: repo, commit } = await bench.sample();
  const change = await startChange(bench, { scenario: loadScenario("secret"), request: "Anything", repo });
  expect(change.checkpoint).toBeNull();
  expect(await change.validate()).toMatchObject({ ok: true });
  await expect(change.commit()).rejects.toMatchObject({
    code: "secret-found",
    message: expect.stringMatching(/^src\/token\.js:3: looks like a github-token: ghp_… /),
  });
  expect(await bench.run(repo, "rev-parse", `harnais/${RUN_ID}`)).toBe(commit);
});

test("no-change: there is nothing to commit", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  const change = await startChange(bench, { scenario: loadScenario("no-change"), request: "Anything", repo });
  expect(await change.workbench.hasChanges(change.cwd, bench.signal)).toBe(false);
  await expect(change.commit()).rejects.toMatchObject({ code: "git-failed" });
});

test.each(["compacts", "unpriced", "prose-plan"])("%s: the build quotes the request in a file, and stays green", async (name) => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  const change = await startChange(bench, { scenario: loadScenario(name), request: `A "quoted" wish`, repo });
  expect(await readFile(join(change.cwd, "docs", "harnais-request.md"), "utf8")).toContain(`> A "quoted" wish`);
  expect(await change.validate()).toMatchObject({ ok: true });
});
