import { chmod, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commitRun, findRunCommit } from "../../src/projects/commit.ts";
import { toCommitMessage } from "../../src/projects/commit-message.ts";
import { createSecretScanner } from "../../src/projects/secret-patterns.ts";
import { createWorktree } from "../../src/projects/worktree.ts";
import { createProjectBench } from "./support/project-bench.ts";
import type { ProjectBench } from "./support/project-bench.ts";

const RUN_ID = "a1b2c3d4";
const BRANCH = `harnais/${RUN_ID}`;
const KNOWN = `house-secret-${"value".repeat(2)}`;
// Put together here, so that this file holds no secret.
const TOKEN = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;

async function open(bench: ProjectBench, request = "A wish") {
  const { path: repo, commit: base } = await bench.sample();
  const { path } = await createWorktree(
    { git: bench.git, config: bench.config },
    { project: { repo, baseBranch: "main" }, runId: RUN_ID },
    bench.signal,
  );
  const deps = { git: bench.git, scanner: createSecretScanner({ knownSecrets: [KNOWN] }) };
  const commit = (parent = base, phaseId = `${RUN_ID}-05`) => {
    const message = toCommitMessage({ request, redact: (text) => text });
    const author = { name: "Atlas via pi", email: "agent@harnais.invalid" };
    return commitRun(deps, { worktree: { repo, path }, runId: RUN_ID, phaseId, parent, message, author }, bench.signal);
  };
  return { repo, base, path, commit };
}

test("the commit stands on the run's branch, by the persona, with trailers, and the worktree is clean", async () => {
  const bench = await createProjectBench();
  const { repo, base, path, commit } = await open(bench);
  await writeFile(join(path, "new file.txt"), "new\n");
  await rm(join(path, "README.md"));
  const made = await commit();
  expect(made.files).toEqual(["README.md", "new file.txt"]);
  const log = await bench.run(repo, "log", "-1", "--format=%H|%P|%an <%ae>|%cn|%(trailers:only,separator=%x3B)|%s", BRANCH);
  expect(log).toBe(
    `${made.commit}|${base}|Atlas via pi <agent@harnais.invalid>|Harnais|Harnais-Run: ${RUN_ID};Harnais-Phase: ${RUN_ID}-05|A wish`,
  );
  expect(await bench.run(path, "status", "--porcelain")).toBe("");
  expect(await bench.run(repo, "status", "--porcelain")).toBe("");
  expect(await bench.run(repo, "rev-parse", "main")).toBe(base);
});

test("the run's own commit is found by its trailers, and a look-alike in a request is not", async () => {
  const bench = await createProjectBench();
  const { repo, path, commit } = await open(bench, `A wish\n\nHarnais-Run: ffffffff\nHarnais-Phase: ffffffff-01`);
  expect(await findRunCommit(bench.git, { repo, runId: RUN_ID }, bench.signal)).toBeUndefined();
  await writeFile(join(path, "new.txt"), "new\n");
  const made = await commit();
  const find = (phaseId?: string) =>
    findRunCommit(bench.git, { repo, runId: RUN_ID, ...(phaseId === undefined ? {} : { phaseId }) }, bench.signal);
  expect(await find()).toBe(made.commit);
  expect(await find(`${RUN_ID}-05`)).toBe(made.commit);
  expect(await find(`${RUN_ID}-06`)).toBeUndefined();
  expect(await bench.run(repo, "log", "-1", "--format=%(trailers:key=Harnais-Run,valueonly)", BRANCH)).toBe(RUN_ID);
});

test("nothing changed is nothing to commit", async () => {
  const bench = await createProjectBench();
  const { repo, base, path, commit } = await open(bench);
  await mkdir(join(path, ".harnais-out"));
  await writeFile(join(path, ".harnais-out", "result.json"), "{}");
  expect(await commit()).toEqual({ commit: null, files: [] });
  expect(await bench.run(repo, "rev-parse", BRANCH)).toBe(base);
});

test("the factory's folders are never committed, whatever .gitignore says", async () => {
  const bench = await createProjectBench();
  const { path, commit } = await open(bench);
  await mkdir(join(path, ".harnais-context"));
  await writeFile(join(path, ".harnais-context", "note.md"), "context");
  await writeFile(join(path, ".gitignore"), "!.harnais-context/\n");
  expect((await commit()).files).toEqual([".gitignore"]);
});

test("what the agent committed, hid or branched away is part of the one scanned commit", async () => {
  const bench = await createProjectBench();
  const { repo, base, path, commit } = await open(bench);
  await bench.run(path, "checkout", "--quiet", "-b", "elsewhere");
  await writeFile(join(path, "own.txt"), "by the agent\n");
  await bench.run(path, "add", "own.txt");
  await bench.run(path, "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "--quiet", "-m", "by the agent");
  await writeFile(join(path, "README.md"), "changed, but hidden from git\n");
  await bench.run(path, "update-index", "--assume-unchanged", "README.md");
  const made = await commit();
  expect(made.files).toEqual(["README.md", "own.txt"]);
  expect(await bench.run(repo, "rev-list", `${base}..${BRANCH}`)).toBe(made.commit);
  expect(await bench.run(path, "symbolic-ref", "--short", "HEAD")).toBe(BRANCH);
});

test("a .git that the agent put in the worktree's place is not believed", async () => {
  const bench = await createProjectBench();
  const { repo, path, commit } = await open(bench);
  const sprung = join(bench.dir, "sprung");
  const trap = join(bench.dir, "trap.sh");
  await writeFile(trap, `#!/bin/sh\ntouch ${sprung}\ncat\n`);
  await chmod(trap, 0o755);
  await rm(join(path, ".git"));
  await bench.run(path, "init", "--quiet", "--template=");
  await writeFile(
    join(path, ".git", "config"),
    `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ${trap}\n[filter "x"]\n\tclean = ${trap}\n`,
  );
  await writeFile(join(path, ".gitattributes"), "* filter=x\n");
  const made = await commit();
  expect(made.files).toEqual([".gitattributes"]);
  expect(await bench.run(repo, "rev-parse", BRANCH)).toBe(made.commit);
  await expect(readFile(sprung)).rejects.toThrow("ENOENT");
});

test("a repository inside the worktree is refused: its files would be lost", async () => {
  const bench = await createProjectBench();
  const { path, commit } = await open(bench);
  await bench.run(path, "init", "--quiet", "inner");
  await writeFile(join(path, "inner", "file.txt"), "inner");
  await bench.run(join(path, "inner"), "add", ".");
  await bench.run(join(path, "inner"), "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "--quiet", "-m", "inner");
  await expect(commit()).rejects.toMatchObject({
    code: "git-failed",
    message: expect.stringContaining("inner is a git repository of its own"),
  });
});

test.each([
  ["a token", "src/x.js", `const a = 1;\n\nexport const token = "${TOKEN}";\n`, "src/x.js:3: looks like a github-token: ghp_…"],
  ["a secret of the factory", "config.ini", `key = ${KNOWN}\n`, "config.ini:1: looks like a secret of the factory: hous…"],
  [
    "the same in base64",
    "config.ini",
    `\nkey = ${Buffer.from(KNOWN).toString("base64")}\n`,
    "config.ini:2: looks like a secret of the factory",
  ],
  [
    "a private key",
    "id",
    `-----BEGIN ${"PRIVATE"} KEY-----\nMIIEvQ${"abcd".repeat(10)}\n-----END PRIVATE KEY-----\n`,
    "id:1: looks like a private-key: ----…",
  ],
  ["a quoted password", "db.js", `connect({ password: "${"c0rrect"}-h0rse-battery" });\n`, "db.js:1: looks like a password"],
  ["a token in a binary file", "blob.bin", `\0\0\n\0${TOKEN}\0`, "blob.bin:2: looks like a github-token"],
  ["a token in UTF-16", "wide.txt", Buffer.from(`\uFEFF\n${TOKEN}`, "utf16le"), "wide.txt:2: looks like a github-token"],
  ["a token behind 9 MB", "big.txt", `${"0123456789abcde\n".repeat(600_000)}${TOKEN}`, "big.txt:600001: looks like a github-token"],
])("%s refuses the commit, naming file and line; nothing is committed or stored", async (_title, file, content, message) => {
  const bench = await createProjectBench();
  const { repo, base, path, commit } = await open(bench);
  await writeFile(join(path, file), content);
  await expect(commit()).rejects.toMatchObject({ code: "secret-found", message: expect.stringContaining(message) });
  await expect(commit()).rejects.not.toMatchObject({ message: expect.stringContaining(TOKEN) });
  expect(await bench.run(repo, "rev-parse", BRANCH)).toBe(base);
  const blob = await bench.run(path, "hash-object", "--no-filters", file);
  await expect(bench.run(repo, "cat-file", "-e", blob)).rejects.toMatchObject({ code: "git-failed" });
});

test("a secret that the agent's own git has stored already is found all the same", async () => {
  const bench = await createProjectBench();
  const { path, commit } = await open(bench);
  await writeFile(join(path, "x.txt"), TOKEN);
  await bench.run(path, "add", "x.txt");
  await expect(commit()).rejects.toMatchObject({ code: "secret-found" });
  await bench.run(path, "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "--quiet", "-m", "x");
  await bench.run(path, "-c", "gc.auto=1", "repack", "-a", "-d", "--quiet");
  await expect(commit()).rejects.toMatchObject({ code: "secret-found", message: expect.stringMatching(/^x\.txt:1: /) });
});

test("what stands in the base already, and ordinary code about passwords, refuse nothing", async () => {
  const bench = await createProjectBench();
  const { repo, path, commit } = await open(bench);
  await writeFile(
    join(path, "login.js"),
    [
      "const password = request.body.password2;",
      'const field = { password: "changeme" };',
      "headers.authorization = `Bearer ${token}`;",
      "// postgres://user:password@localhost:5432/db",
      'if (password === "") throw new Error("password: must not be empty");',
    ].join("\n"),
  );
  expect((await commit()).files).toEqual(["login.js"]);
  // A fixture of the project that looks like a token, in a file that the next run changes elsewhere.
  await writeFile(join(repo, "fixture.txt"), `${TOKEN}\n`);
  await bench.run(repo, "add", "fixture.txt");
  await bench.run(repo, "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "--quiet", "-m", "fixture");
  const base = await bench.run(repo, "rev-parse", "HEAD");
  await writeFile(join(path, "fixture.txt"), `${TOKEN}\nmore\n`);
  expect((await commit(base)).files).toContain("fixture.txt");
});

test("a link is committed as a link, not as what it points to", async () => {
  const bench = await createProjectBench();
  const { repo, path, commit } = await open(bench);
  await symlink("/etc/passwd", join(path, "link"));
  const made = await commit();
  expect(await bench.run(repo, "cat-file", "-p", `${made.commit}:link`)).toBe("/etc/passwd");
});
