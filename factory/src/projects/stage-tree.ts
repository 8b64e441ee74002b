import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FactoryError } from "../lib/errors.ts";
import { FACTORY_FOLDERS } from "./git-exclude.ts";
import { readDriverSettings } from "./git-drivers.ts";
import type { Git, GitPlace } from "./git.ts";
import { openWorktree } from "./worktree-place.ts";
import type { WorktreeRef } from "./worktree-place.ts";

/** One changed file of a staged tree. */
export interface StagedChange {
  readonly path: string;
  /** Blob id; null for a deletion. */
  readonly blob: string | null;
  /** Mode in the tree, e.g. `100644`; null for a deletion. */
  readonly mode: string | null;
}

/** A worktree's content as a git tree, kept apart from the repository until `keep`. */
export interface StagedTree {
  readonly tree: string;
  /** What differs from the parent, by path. */
  readonly changes: readonly StagedChange[];
  /** Git calls that must see the staged objects. */
  readonly place: GitPlace;
  /** Folders that hold loose objects: the staged ones first. */
  readonly objectDirs: readonly string[];
  /** Moves the staged objects into the repository. */
  keep(): Promise<void>;
}

/**
 * Stages the whole worktree (untracked files too, ignored and the factory's own not) against `parent`, with an index
 * and an object folder of its own: the worktree's HEAD and index stay untouched, and what a scan refuses has never
 * been in the repository. `use` gets the tree; afterwards what was not kept is gone.
 * @throws git-failed; also for a repository inside the worktree, whose files git could not hold.
 */
export async function withStagedTree<Result>(
  git: Git,
  source: { readonly worktree: WorktreeRef; readonly parent: string },
  use: (staged: StagedTree, signal: AbortSignal) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const { place, commonDir } = await openWorktree(git, source.worktree, signal);
  const scratch = await mkdtemp(join(tmpdir(), "harnais-stage-"));
  try {
    const objects = join(scratch, "objects");
    const repositoryObjects = join(commonDir, "objects");
    await mkdir(objects);
    const staging: GitPlace = {
      ...place,
      indexFile: join(scratch, "index"),
      settings: await readDriverSettings(git, place, signal),
      env: { GIT_OBJECT_DIRECTORY: objects, GIT_ALTERNATE_OBJECT_DIRECTORIES: toAlternates(repositoryObjects) },
    };
    const tree = await writeTree(git, { staging, parent: source.parent }, signal);
    const changes = await listChanges(git, { staging, parent: source.parent, tree }, signal);
    refuseNestedRepositories(changes);
    const keep = (): Promise<void> => cp(objects, repositoryObjects, { recursive: true, force: false, errorOnExist: false });
    return await use({ tree, changes, place: staging, objectDirs: [objects, repositoryObjects], keep }, signal);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Git splits this variable at colons; a quoted entry may hold any character (git(1)). */
const toAlternates = (folder: string): string => `"${folder.replace(/["\\]/g, String.raw`\$&`)}"`;

interface Staging {
  readonly staging: GitPlace;
  readonly parent: string;
}

async function writeTree(git: Git, { staging, parent }: Staging, signal: AbortSignal): Promise<string> {
  // A fresh index: flags such as assume-unchanged in the worktree's own could hide files.
  await git.run(["read-tree", parent], staging, signal);
  await git.run(["add", "--all", "--", ":(top)"], staging, signal);
  // A `!` line in a .gitignore wins over the exclude file; an exclude pathspec fails on folders that are ignored.
  const ours = FACTORY_FOLDERS.map((folder) => `:(top,literal)${folder}`);
  await git.run(["rm", "--cached", "-r", "--force", "--quiet", "--ignore-unmatch", "--", ...ours], staging, signal);
  return (await git.run(["write-tree"], staging, signal)).trim();
}

const RAW_ENTRY = /^:\d{6} (\d{6}) [0-9a-f]+ ([0-9a-f]+) [A-Z]\d*$/;

async function listChanges(git: Git, source: Staging & { tree: string }, signal: AbortSignal): Promise<StagedChange[]> {
  const { staging, parent, tree } = source;
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=none", parent, tree];
  const fields = (await git.run(args, { ...staging, maxOutputBytes: MAX_LIST_BYTES }, signal)).split("\0");
  const changes: StagedChange[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [, mode, blob] = RAW_ENTRY.exec(fields[index] ?? "") ?? [];
    const path = fields[index + 1];
    if (mode === undefined || blob === undefined || path === undefined)
      throw new FactoryError("git-failed", `git diff-tree: the list of changes is not readable (more than ${MAX_LIST_BYTES} bytes?)`);
    const isDeleted = /^0+$/.test(mode);
    changes.push({ path, blob: isDeleted ? null : blob, mode: isDeleted ? null : mode });
  }
  return changes;
}

const MAX_LIST_BYTES = 64 * 1024 * 1024;
const REPOSITORY_MODE = "160000";

function refuseNestedRepositories(changes: readonly StagedChange[]): void {
  const nested = changes.find((change) => change.mode === REPOSITORY_MODE);
  if (nested !== undefined)
    throw new FactoryError(
      "git-failed",
      `${nested.path} is a git repository of its own inside the worktree: its files cannot be committed (remove ${nested.path}/.git, or ignore the folder)`,
    );
}
