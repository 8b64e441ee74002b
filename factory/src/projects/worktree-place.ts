import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { FactoryError } from "../lib/errors.ts";
import type { Git, GitPlace } from "./git.ts";
import { findRepository } from "./repository.ts";

/** A run's worktree, named from the side that agents cannot write: the project's repository. */
export interface WorktreeRef {
  /** The project's checkout. */
  readonly repo: string;
  readonly path: string;
}

export interface WorktreeGitDir {
  readonly gitDir: string;
  /** False: git was killed while it made the worktree. */
  readonly isWhole: boolean;
}

/** Git's own folder of the worktree at `path` (`<common>/worktrees/<name>`, gitrepository-layout(5)); undefined when there is none. */
export async function findWorktreeGitDir(commonDir: string, path: string): Promise<WorktreeGitDir | undefined> {
  const folder = join(commonDir, "worktrees");
  for (const name of await readdir(folder).catch(() => [])) {
    const gitDir = join(folder, name);
    const pointer = await readFile(join(gitDir, "gitdir"), "utf8").catch(() => "");
    if (pointer.trim() === "" || dirname(resolve(gitDir, pointer.trim())) !== path) continue;
    const isWhole = !(await exists(join(gitDir, "locked"))) && (await exists(join(gitDir, "index"))) && (await exists(join(path, ".git")));
    return { gitDir, isWhole };
  }
  return undefined;
}

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined;

/**
 * Where git calls about a worktree run: its folders are named, so that a `.git` which an agent replaced is not read.
 * @throws not-found when git knows no worktree there.
 */
export async function openWorktree(
  git: Git,
  worktree: WorktreeRef,
  signal: AbortSignal,
): Promise<{ place: GitPlace & { gitDir: string; workTree: string }; commonDir: string }> {
  const { commonDir } = await findRepository(git, worktree.repo, signal);
  const known = await findWorktreeGitDir(commonDir, worktree.path);
  if (known === undefined) throw new FactoryError("not-found", `no worktree at ${worktree.path}: it was removed`);
  return { place: { cwd: worktree.path, gitDir: known.gitDir, workTree: worktree.path }, commonDir };
}
