import { lstat, mkdir, readdir, readlink, symlink } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Git } from "./git.ts";

const DEPENDENCIES = "node_modules";
/** Folders of npm, pnpm and scopes that hold entries of their own; other dot-names are caches, which belong to one checkout. */
const SHARED_DOT_NAMES = new Set([".bin", ".pnpm", ".store"]);

/**
 * Gives a worktree the installed packages of its checkout, when git ignores them there. The worktree's `node_modules`
 * is a folder of its own with one link per package: what tools add (caches, further packages) stays in the worktree,
 * and a workspace's link to its own package leads into the worktree, not back to the checkout. Packages themselves
 * are shared: nothing stops a program from writing into them.
 */
export async function linkDependencies(
  git: Git,
  where: { readonly checkout: string; readonly worktree: string },
  signal: AbortSignal,
): Promise<void> {
  const source = join(where.checkout, DEPENDENCIES);
  const target = join(where.worktree, DEPENDENCIES);
  const info = await lstat(source).catch(() => undefined);
  if (info?.isDirectory() !== true || (await lstat(target).catch(() => undefined)) !== undefined) return;
  const ignored = await git.attempt(["check-ignore", "--quiet", "--", DEPENDENCIES], { cwd: where.checkout }, signal);
  if (ignored.exitCode !== 0) return;
  await linkEntries(source, target);
}

async function linkEntries(source: string, target: string): Promise<void> {
  await mkdir(target);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name);
    const to = join(target, entry.name);
    if (entry.name.startsWith(".") && !SHARED_DOT_NAMES.has(entry.name)) continue;
    if (entry.isSymbolicLink()) await copyLink(from, to);
    else if (entry.isDirectory() && (entry.name.startsWith("@") || entry.name === ".bin")) await linkEntries(from, to);
    else await symlink(from, to);
  }
}

/** A relative link is kept as it is: it means the same place in the worktree. */
async function copyLink(from: string, to: string): Promise<void> {
  const aim = await readlink(from);
  await symlink(isAbsolute(aim) ? from : aim, to);
}
