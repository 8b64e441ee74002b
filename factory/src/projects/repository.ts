import { realpath, stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { FactoryError } from "../lib/errors.ts";
import { readDriverSettings } from "./git-drivers.ts";
import { parseRef } from "./git-ref.ts";
import type { Git } from "./git.ts";

/** Where a repository lives. All paths absolute and real. */
export interface Repository {
  /** The main checkout's top level. */
  readonly checkout: string;
  /** The folder that all its worktrees share (`<checkout>/.git`). */
  readonly commonDir: string;
}

/**
 * The repository that `path` lies in: a subfolder or a linked worktree gives its main checkout.
 * @throws bad-input when the path is not absolute or a URL; not-a-repository when there is no checkout.
 */
export async function findRepository(git: Git, path: string, signal: AbortSignal): Promise<Repository> {
  const folder = await toFolder(path);
  const found = await git.attempt(
    ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir"],
    { cwd: folder },
    signal,
  );
  if (found.exitCode !== 0) throw notARepository(path, found.stderr);
  const [topLevel, gitDir, commonDir] = found.stdout.trimEnd().split("\n");
  if (topLevel === undefined || gitDir === undefined || commonDir === undefined) throw notARepository(path, found.stderr);
  if (gitDir === commonDir) return { checkout: await realpath(topLevel), commonDir: await realpath(commonDir) };
  return { checkout: await findMainCheckout(git, { path, commonDir }, signal), commonDir: await realpath(commonDir) };
}

async function toFolder(path: string): Promise<string> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    throw new FactoryError("bad-input", "repo: URLs are not served yet: clone it and give the folder of the clone", { field: "repo" });
  if (!isAbsolute(path)) throw new FactoryError("bad-input", `repo: ${path} is not an absolute path`, { field: "repo" });
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) throw new FactoryError("not-a-repository", `no folder ${path}`, { field: "repo" });
  if (!info.isDirectory())
    throw new FactoryError("not-a-repository", `${path} is a file: give the folder of a git repository`, { field: "repo" });
  return path;
}

/** `git worktree list` names the main checkout first. */
async function findMainCheckout(git: Git, where: { path: string; commonDir: string }, signal: AbortSignal): Promise<string> {
  const listed = await git.run(["worktree", "list", "--porcelain"], { cwd: where.path }, signal);
  const main = listed.split("\n\n")[0]?.split("\n") ?? [];
  const path = main.find((line) => line.startsWith("worktree "))?.slice("worktree ".length);
  if (path === undefined || main.includes("bare"))
    throw new FactoryError(
      "not-a-repository",
      `${where.path} belongs to a bare repository (${where.commonDir}): give a clone with a checkout`,
    );
  return realpath(path);
}

function notARepository(path: string, stderr: string): FactoryError {
  const reason = /dubious ownership/.test(stderr)
    ? "belongs to another user: git refuses it (chown it, or run as its owner)"
    : "is not a git repository with a checkout: give the folder of a clone, or run `git init` and commit in it";
  return new FactoryError("not-a-repository", `${path} ${reason}`, { field: "repo" });
}

/**
 * The branch that a new project starts from: the checked-out one; on a detached HEAD `main` or `master`.
 * @throws bad-input when there is none.
 */
export async function readBaseBranch(git: Git, checkout: string, signal: AbortSignal): Promise<string> {
  const head = await git.attempt(["symbolic-ref", "--quiet", "--short", "HEAD"], { cwd: checkout }, signal);
  if (head.exitCode === 0) {
    const branch = parseRef(head.stdout.trim(), "baseBranch");
    if ((await readBranch(git, { checkout, branch }, signal)) !== undefined) return branch;
    throw new FactoryError("not-a-repository", `${checkout} has no commit on ${branch} yet: commit once, a run starts from a commit`, {
      field: "repo",
    });
  }
  for (const branch of ["main", "master"]) if ((await readBranch(git, { checkout, branch }, signal)) !== undefined) return branch;
  throw new FactoryError("bad-input", `baseBranch: ${checkout} has no branch checked out: name one with --base-branch`, {
    field: "baseBranch",
  });
}

/** The commit a branch stands at; undefined when there is no such branch. */
export async function readBranch(
  git: Git,
  where: { readonly checkout: string; readonly branch: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = `refs/heads/${parseRef(where.branch, "baseBranch")}^{commit}`;
  const found = await git.attempt(["rev-parse", "--verify", "--quiet", "--end-of-options", ref], { cwd: where.checkout }, signal);
  return found.exitCode === 0 ? found.stdout.trim() : undefined;
}

/** Changes of the main checkout that are in no commit, untracked files included: they are not part of a run. */
export async function countUncommittedChanges(git: Git, checkout: string, signal: AbortSignal): Promise<number> {
  const args = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=all"];
  const settings = await readDriverSettings(git, { cwd: checkout }, signal);
  const listed = await git.run(args, { cwd: checkout, settings }, signal);
  return listed.split("\0").filter((entry) => entry !== "").length;
}
