import { appendFile, chmod, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { checkpoint } from "../../src/projects/checkpoint.ts";
import { createSecretScanner } from "../../src/projects/secret-patterns.ts";
import { createWorktree, removeWorktree } from "../../src/projects/worktree.ts";
import { createProjectBench } from "./support/project-bench.ts";
import type { ProjectBench } from "./support/project-bench.ts";

const RUN_ID = "a1b2c3d4";
const scanner = createSecretScanner({ knownSecrets: [] });

async function open(bench: ProjectBench, { runId = RUN_ID, worktreesDir }: { runId?: string; worktreesDir?: string } = {}) {
  const { path: repo, commit } = await bench.sample();
  const deps = { git: bench.git, config: { dataDir: bench.config.dataDir, worktreesDir } };
  const make = () => createWorktree(deps, { project: { repo, baseBranch: "main" }, runId }, bench.signal);
  return { repo, commit, deps, make, worktree: await make() };
}

test("a run gets a worktree on its own branch and the checkout is left as it was", async () => {
  const bench = await createProjectBench();
  const { repo, commit, worktree } = await open(bench);
  expect(worktree).toEqual({
    path: join(bench.config.dataDir, "worktrees", RUN_ID),
    branch: `harnais/${RUN_ID}`,
    baseSha: commit,
    uncommittedChanges: 0,
  });
  expect(await bench.run(worktree.path, "symbolic-ref", "HEAD")).toBe(`refs/heads/harnais/${RUN_ID}`);
  expect(await bench.run(repo, "status", "--porcelain")).toBe("");
  expect(await bench.run(repo, "branch", "--show-current")).toBe("main");
});

test("uncommitted changes of the checkout are counted and are not part of the run", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  await writeFile(join(repo, "draft.txt"), "untracked");
  await appendFile(join(repo, "README.md"), "more\n");
  const request = { project: { repo, baseBranch: "main" }, runId: RUN_ID };
  const worktree = await createWorktree({ git: bench.git, config: bench.config }, request, bench.signal);
  expect(worktree.uncommittedChanges).toBe(2);
  await expect(stat(join(worktree.path, "draft.txt"))).rejects.toThrow("ENOENT");
  expect(await bench.run(repo, "status", "--porcelain")).toBe(" M README.md\n?? draft.txt");
});

test("made again after an interrupt it is the same worktree, with the work that stands in it", async () => {
  const bench = await createProjectBench();
  const { make, worktree } = await open(bench);
  await writeFile(join(worktree.path, "work.txt"), "half done");
  expect(await make()).toEqual(worktree);
  expect(await readFile(join(worktree.path, "work.txt"), "utf8")).toBe("half done");
});

test.each([
  [
    "git was killed while it made it",
    async (_bench: ProjectBench, repo: string) => writeFile(join(repo, ".git", "worktrees", RUN_ID, "locked"), "initializing"),
  ],
  ["its folder is gone", async (bench: ProjectBench) => rm(join(bench.config.dataDir, "worktrees", RUN_ID), { recursive: true })],
  ["git has forgotten it", async (_bench: ProjectBench, repo: string) => rm(join(repo, ".git", "worktrees", RUN_ID), { recursive: true })],
])("a broken worktree is made anew on the same branch: %s", async (_title, breakIt) => {
  const bench = await createProjectBench();
  const { repo, make, worktree } = await open(bench);
  await breakIt(bench, repo);
  expect(await make()).toEqual(worktree);
  expect(await bench.run(worktree.path, "status", "--porcelain")).toBe("");
  expect((await bench.run(repo, "worktree", "list", "--porcelain")).match(/^worktree /gm)).toHaveLength(2);
});

test("a worktree whose place lies inside the checkout goes beside it", async () => {
  const bench = await createProjectBench();
  const { repo, deps, worktree } = await open(bench, { worktreesDir: join(bench.dir, "plume", ".harnais-data", "worktrees") });
  expect(worktree.path).toBe(join(dirname(repo), ".harnais-worktrees", RUN_ID));
  await removeWorktree(deps, { repo, path: worktree.path, runId: RUN_ID }, bench.signal);
  await expect(stat(join(dirname(repo), ".harnais-worktrees"))).rejects.toThrow("ENOENT");
});

test("removed, one worktree is left in git's list and the branch stays; twice is no error", async () => {
  const bench = await createProjectBench();
  const { repo, deps, worktree } = await open(bench);
  await writeFile(join(worktree.path, "left.txt"), "uncommitted");
  await writeFile(join(repo, ".git", "worktrees", RUN_ID, "locked"), "");
  const run = { repo, path: worktree.path, runId: RUN_ID };
  await removeWorktree(deps, run, bench.signal);
  await removeWorktree(deps, run, bench.signal);
  expect((await bench.run(repo, "worktree", "list", "--porcelain")).match(/^worktree /gm)).toHaveLength(1);
  expect(await bench.run(repo, "branch", "--list", "--format=%(refname:short)")).toBe(`harnais/${RUN_ID}\nmain`);
  expect(await bench.run(repo, "status", "--porcelain")).toBe("");
  await expect(stat(worktree.path)).rejects.toThrow("ENOENT");
});

test("many runs of one project at one moment each get their worktree, and none is left of them", async () => {
  const bench = await createProjectBench();
  const { path: repo, commit } = await bench.sample();
  const deps = { git: bench.git, config: bench.config };
  const runIds = Array.from({ length: 6 }, (_, index) => `a1b2c3d${index}`);
  await Promise.all(
    runIds.map(async (runId) => {
      const worktree = await createWorktree(deps, { project: { repo, baseBranch: "main" }, runId }, bench.signal);
      expect(worktree.baseSha).toBe(commit);
      expect(await bench.run(worktree.path, "branch", "--show-current")).toBe(`harnais/${runId}`);
      await removeWorktree(deps, { repo, path: worktree.path, runId }, bench.signal);
    }),
  );
  expect((await bench.run(repo, "worktree", "list", "--porcelain")).match(/^worktree /gm)).toHaveLength(1);
  expect(await bench.run(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/harnais")).toBe(
    runIds.map((id) => `harnais/${id}`).join("\n"),
  );
});

test("only a folder that carries the run's name is ever removed", async () => {
  const bench = await createProjectBench();
  const { repo, deps } = await open(bench);
  await expect(removeWorktree(deps, { repo, path: repo, runId: RUN_ID }, bench.signal)).rejects.toMatchObject({ code: "bad-input" });
  await expect(removeWorktree(deps, { repo, path: bench.dir, runId: "" }, bench.signal)).rejects.toMatchObject({ code: "bad-input" });
  expect((await stat(join(repo, "package.json"))).isFile()).toBe(true);
});

test("the factory's folders are excluded once, in the worktree too", async () => {
  const bench = await createProjectBench();
  const { repo, make, worktree } = await open(bench);
  await make();
  const exclude = await readFile(join(repo, ".git", "info", "exclude"), "utf8");
  expect(exclude.match(/^\/\.harnais-out\/$/gm)).toHaveLength(1);
  await mkdir(join(worktree.path, ".harnais-out"));
  await writeFile(join(worktree.path, ".harnais-out", "result.json"), "{}");
  expect(await bench.run(worktree.path, "status", "--porcelain")).toBe("");
});

test("installed packages are there, a workspace's link stays in the worktree, and what is added stays out of the checkout", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  await mkdir(join(repo, "node_modules", "@house"), { recursive: true });
  await mkdir(join(repo, "node_modules", "dep"));
  await writeFile(join(repo, "node_modules", "dep", "index.js"), "module.exports = 1;");
  await symlink("../../src", join(repo, "node_modules", "@house", "own"));
  await mkdir(join(repo, "node_modules", ".cache"));
  const { path } = await createWorktree(
    { git: bench.git, config: bench.config },
    { project: { repo, baseBranch: "main" }, runId: RUN_ID },
    bench.signal,
  );
  expect(await readFile(join(path, "node_modules", "dep", "index.js"), "utf8")).toContain("1");
  await writeFile(join(path, "src", "mark.txt"), "worktree");
  expect(await readFile(join(path, "node_modules", "@house", "own", "mark.txt"), "utf8")).toBe("worktree");
  await expect(stat(join(path, "node_modules", ".cache"))).rejects.toThrow("ENOENT");
  await mkdir(join(path, "node_modules", "added"));
  await expect(stat(join(repo, "node_modules", "added"))).rejects.toThrow("ENOENT");
  await rm(join(path, "src", "mark.txt"));
  expect(await bench.run(path, "status", "--porcelain")).toBe("");
});

test("a checkpoint holds untracked files and deletions, and touches neither HEAD, nor the index, nor the branch", async () => {
  const bench = await createProjectBench();
  const { repo, commit, worktree } = await open(bench);
  await writeFile(join(worktree.path, "new.txt"), "new");
  await rm(join(worktree.path, "README.md"));
  await appendFile(join(worktree.path, "src", "footer.js"), "// changed\n");
  await bench.run(worktree.path, "add", "new.txt");
  const before = await bench.run(worktree.path, "status", "--porcelain");
  const attempt = { worktree: { repo, path: worktree.path }, runId: RUN_ID, phaseName: "build it", attempt: 2, parent: commit };
  const sha = await checkpoint({ git: bench.git, scanner }, attempt, bench.signal);
  expect(await bench.run(repo, "rev-parse", `refs/harnais/${RUN_ID}/build-it-2`)).toBe(sha);
  expect(await bench.run(repo, "diff-tree", "-r", "--name-status", commit, String(sha))).toBe("D\tREADME.md\nA\tnew.txt\nM\tsrc/footer.js");
  expect(await bench.run(worktree.path, "status", "--porcelain")).toBe(before);
  expect(await bench.run(repo, "rev-parse", worktree.branch)).toBe(commit);
});

test("a checkpoint of a tree with a secret is not made, and no object of it is kept", async () => {
  const bench = await createProjectBench();
  const { repo, commit, worktree } = await open(bench);
  const token = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
  await writeFile(join(worktree.path, "token.txt"), token);
  const attempt = { worktree: { repo, path: worktree.path }, runId: RUN_ID, phaseName: "build", attempt: 1, parent: commit };
  expect(await checkpoint({ git: bench.git, scanner }, attempt, bench.signal)).toBeNull();
  const blob = await bench.run(worktree.path, "hash-object", "token.txt");
  await expect(bench.run(repo, "cat-file", "-e", blob)).rejects.toMatchObject({ code: "git-failed" });
});

test.each([
  ["no repository", "not-a-repository", async (bench: ProjectBench) => (await mkdir(join(bench.dir, "plain")), join(bench.dir, "plain"))],
  ["a missing folder", "not-a-repository", async (bench: ProjectBench) => join(bench.dir, "missing")],
  ["a file", "not-a-repository", async (bench: ProjectBench) => (await writeFile(join(bench.dir, "file"), ""), join(bench.dir, "file"))],
  ["a URL", "bad-input", async () => "https://example.org/x.git"],
  ["a relative path", "bad-input", async () => "some/where"],
  [
    "a bare repository",
    "not-a-repository",
    async (bench: ProjectBench) => (await bench.run(bench.dir, "init", "--bare", "bare.git"), join(bench.dir, "bare.git")),
  ],
])("%s is refused with a clear error", async (_title, code, prepare) => {
  const bench = await createProjectBench();
  const repo = await prepare(bench);
  const made = createWorktree(
    { git: bench.git, config: bench.config },
    { project: { repo, baseBranch: "main" }, runId: RUN_ID },
    bench.signal,
  );
  await expect(made).rejects.toMatchObject({ code });
});

test.each(["--upload-pack=x", "a..b", "main^{tree}", "-b", "x.lock", "../x", "nope", ""])(
  "the base branch %j is refused",
  async (baseBranch) => {
    const bench = await createProjectBench();
    const { path: repo } = await bench.sample();
    const made = createWorktree({ git: bench.git, config: bench.config }, { project: { repo, baseBranch }, runId: RUN_ID }, bench.signal);
    await expect(made).rejects.toMatchObject({ code: expect.stringMatching(/^bad-(?:ref|input)$/), field: "baseBranch" });
  },
);

test("no program of the repository's own config runs: hooks, filters, fsmonitor", async () => {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample();
  const trap = join(bench.dir, "trap.sh");
  const sprung = join(bench.dir, "sprung");
  await writeFile(trap, `#!/bin/sh\necho "$0 $*" >> ${sprung}\ncat\n`);
  await chmod(trap, 0o755);
  for (const folder of ["hooks", "info"]) await mkdir(join(repo, ".git", folder), { recursive: true });
  for (const hook of ["post-checkout", "pre-commit", "post-index-change", "reference-transaction"])
    await symlink(trap, join(repo, ".git", "hooks", hook));
  await appendFile(
    join(repo, ".git", "config"),
    `[core]\n\tfsmonitor = ${trap}\n[filter "evil"]\n\tclean = ${trap}\n\tsmudge = ${trap}\n\tprocess = ${trap}\n\trequired = true\n[diff "evil"]\n\ttextconv = ${trap}\n\tcommand = ${trap}\n`,
  );
  await writeFile(join(repo, ".git", "info", "attributes"), "* filter=evil diff=evil\n");
  // The trap works: a bare git springs it.
  await bench.launcher.runCommand(
    { file: "git", args: ["add", "."] },
    { cwd: repo, env: bench.config.baseEnv, timeoutMs: 60_000 },
    bench.signal,
  );
  expect(await readFile(sprung, "utf8")).toContain("trap.sh");
  await rm(sprung);
  const request = { project: { repo, baseBranch: "main" }, runId: RUN_ID };
  const worktree = await createWorktree({ git: bench.git, config: bench.config }, request, bench.signal);
  await writeFile(join(worktree.path, "new.txt"), "new");
  const attempt = { worktree: { repo, path: worktree.path }, runId: RUN_ID, phaseName: "build", attempt: 1, parent: worktree.baseSha };
  expect(await checkpoint({ git: bench.git, scanner }, attempt, bench.signal)).not.toBeNull();
  await removeWorktree({ git: bench.git }, { repo, path: worktree.path, runId: RUN_ID }, bench.signal);
  await expect(readFile(sprung, "utf8")).rejects.toThrow("ENOENT");
});
