import { mkdir, realpath, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Config } from "../config.ts";
import { FactoryError } from "../lib/errors.ts";
import { excludeFactoryFolders } from "./git-exclude.ts";
import { readDriverSettings } from "./git-drivers.ts";
import { parseRef, toRunBranch } from "./git-ref.ts";
import type { Git } from "./git.ts";
import { linkDependencies } from "./link-dependencies.ts";
import { countUncommittedChanges, findRepository, readBranch } from "./repository.ts";
import type { Repository } from "./repository.ts";
import { findWorktreeGitDir } from "./worktree-place.ts";

/** Keeps worktrees out of a checkout that holds the data folder: they would show up in its `git status`. */
const BESIDE_CHECKOUT = ".harnais-worktrees";

export interface WorktreeDeps {
  readonly git: Git;
  readonly config: Pick<Config, "dataDir" | "worktreesDir">;
}

export interface WorktreeRequest {
  readonly project: { readonly repo: string; readonly baseBranch: string };
  readonly runId: string;
}

export interface RunWorktree {
  /** Absolute, real. */
  readonly path: string;
  /** `harnais/<run_id>`. */
  readonly branch: string;
  /** The commit of the base branch that the run starts from. */
  readonly baseSha: string;
  /** Changes of the main checkout that are not part of the run. */
  readonly uncommittedChanges: number;
}

/**
 * The run's worktree on its own branch, made from the base branch; the main checkout is not touched. Done again after
 * an interrupt it gives the same worktree, as it stands; half-made ones are made anew.
 * @throws not-a-repository, bad-ref, bad-input (no such base branch), git-failed.
 */
export async function createWorktree(deps: WorktreeDeps, request: WorktreeRequest, signal: AbortSignal): Promise<RunWorktree> {
  const { git } = deps;
  const { project, runId } = request;
  const branch = toRunBranch(runId);
  const repository = await findRepository(git, project.repo, signal);
  const path = await toWorktreePath(deps.config, { repository, runId });
  const uncommittedChanges = await countUncommittedChanges(git, repository.checkout, signal);
  await excludeFactoryFolders(repository.commonDir);
  const known = await findWorktreeGitDir(repository.commonDir, path);
  if (known?.isWhole === true && (await readBranch(git, { checkout: repository.checkout, branch }, signal)) !== undefined)
    return {
      path,
      branch,
      baseSha: await readForkPoint(git, { repository, branch, base: project.baseBranch }, signal),
      uncommittedChanges,
    };
  const baseSha = await addWorktree(deps, { repository, path, branch, base: project.baseBranch }, signal);
  await linkDependencies(git, { checkout: repository.checkout, worktree: path }, signal);
  return { path, branch, baseSha, uncommittedChanges };
}

/** D4: where a run's worktree goes. */
async function toWorktreePath(config: WorktreeDeps["config"], where: { repository: Repository; runId: string }): Promise<string> {
  const { checkout } = where.repository;
  const wanted = config.worktreesDir ?? join(config.dataDir, "worktrees");
  const folder = (await isInside(checkout, wanted)) ? join(dirname(checkout), BESIDE_CHECKOUT) : wanted;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return join(await realpath(folder), where.runId);
}

/** Whether `path`, which need not exist yet, lies in `folder` (real path), by the nearest ancestor that exists. */
async function isInside(folder: string, path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return path !== dirname(path) && isInside(folder, dirname(path));
  const way = relative(folder, real);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`));
}

interface NewWorktree {
  readonly repository: Repository;
  readonly path: string;
  readonly branch: string;
  readonly base: string;
}

async function addWorktree({ git }: WorktreeDeps, wanted: NewWorktree, signal: AbortSignal): Promise<string> {
  const { checkout } = wanted.repository;
  await dropWorktree(git, { repository: wanted.repository, path: wanted.path }, signal);
  const settings = await readDriverSettings(git, { cwd: checkout }, signal);
  const started = await readBranch(git, { checkout, branch: wanted.branch }, signal);
  const baseSha = started === undefined ? await readBase(git, wanted, signal) : await readForkPoint(git, wanted, signal);
  const target =
    started === undefined ? ["--no-track", "-b", wanted.branch, "--", wanted.path, baseSha] : ["--", wanted.path, wanted.branch];
  await git.run(["worktree", "add", ...target], { cwd: checkout, settings }, signal);
  return baseSha;
}

async function readBase(git: Git, { repository, base }: NewWorktree, signal: AbortSignal): Promise<string> {
  const sha = await readBranch(git, { checkout: repository.checkout, branch: base }, signal);
  if (sha !== undefined) return sha;
  throw new FactoryError(
    "bad-input",
    `baseBranch: ${repository.checkout} has no branch ${base} with a commit: commit there, or name another with \`harnais projects set <id> --base-branch B\``,
    { field: "baseBranch" },
  );
}

/** Where an existing run branch left its base: the commit both share. */
async function readForkPoint(
  git: Git,
  where: { readonly repository: Repository; readonly branch: string; readonly base: string },
  signal: AbortSignal,
): Promise<string> {
  const refs = [`refs/heads/${parseRef(where.base, "baseBranch")}`, `refs/heads/${where.branch}`];
  return (await git.run(["merge-base", "--end-of-options", ...refs], { cwd: where.repository.checkout }, signal)).trim();
}

/**
 * Takes the run's worktree away, whatever state it is in; its branch stays. Nothing to do is no error.
 * @throws not-a-repository; bad-input when `path` is not named by the run.
 */
export async function removeWorktree(
  { git }: Pick<WorktreeDeps, "git">,
  run: { readonly repo: string; readonly path: string; readonly runId: string },
  signal: AbortSignal,
): Promise<void> {
  // The one deletion of a whole folder in this slice: only ever one that carries the run's own name.
  if (basename(run.path) !== run.runId || run.runId === "")
    throw new FactoryError("bad-input", `${run.path} is not the worktree of run ${run.runId}`);
  const repository = await findRepository(git, run.repo, signal);
  await dropWorktree(git, { repository, path: run.path }, signal);
  await removeIfEmpty(dirname(run.path));
}

async function dropWorktree(git: Git, where: { repository: Repository; path: string }, signal: AbortSignal): Promise<void> {
  const { repository, path } = where;
  if (repository.checkout === path) throw new FactoryError("bad-input", `${path} is the project's own checkout`);
  const known = await findWorktreeGitDir(repository.commonDir, path);
  // Twice `--force`: also when it is locked (git was killed while making it) or has changes; those are in the commit or lost with the run.
  if (known !== undefined)
    await git.attempt(["worktree", "remove", "--force", "--force", "--", path], { cwd: repository.checkout }, signal);
  const isThere = (await stat(path).catch(() => undefined)) !== undefined;
  if (isThere) await rm(path, { recursive: true, force: true, maxRetries: 3 });
  const left = await findWorktreeGitDir(repository.commonDir, path);
  if (left !== undefined) await rm(left.gitDir, { recursive: true, force: true });
  await git.run(["worktree", "prune"], { cwd: repository.checkout }, signal);
}

/** The folder beside a checkout goes with the last worktree in it. */
async function removeIfEmpty(folder: string): Promise<void> {
  if (basename(folder) === BESIDE_CHECKOUT) await rmdir(folder).catch(() => undefined);
}
