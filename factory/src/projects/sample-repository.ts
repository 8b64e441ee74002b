import { cp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomHex } from "@harnais/contracts/ids.ts";
import type { Config } from "../config.ts";
import { FactoryError } from "../lib/errors.ts";
import { makeFolder } from "../lib/make-folder.ts";
import { FACTORY_IDENTITY } from "./commit-tree.ts";
import type { Git } from "./git.ts";

const FOLDER_MODE = 0o700;

/**
 * Copies the sample project into `target` (missing or empty) as a git repository with one commit on `main`, which
 * appears complete or not at all. For the demo and for tests.
 * @throws conflict when the folder is not empty; git-failed.
 */
export async function createSampleRepository(
  { git, config }: { readonly git: Git; readonly config: Pick<Config, "rootDir"> },
  target: string,
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly commit: string }> {
  makeFolder(dirname(target), FOLDER_MODE);
  if ((await readdir(target).catch(() => [])).length > 0) throw new FactoryError("conflict", `${target} is not empty: name another folder`);
  const draft = `${target}.${randomHex(4)}.tmp`;
  try {
    await cp(join(config.rootDir, "factory", "sample-project"), draft, { recursive: true });
    const commit = await commitAll(git, draft, signal);
    await rename(draft, target);
    return { path: target, commit };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function commitAll(git: Git, cwd: string, signal: AbortSignal): Promise<string> {
  const identity = {
    GIT_AUTHOR_NAME: FACTORY_IDENTITY.name,
    GIT_AUTHOR_EMAIL: FACTORY_IDENTITY.email,
    GIT_COMMITTER_NAME: FACTORY_IDENTITY.name,
    GIT_COMMITTER_EMAIL: FACTORY_IDENTITY.email,
  };
  await git.run(["init", "--quiet", "--initial-branch=main", "--template="], { cwd }, signal);
  await git.run(["add", "--all"], { cwd }, signal);
  await git.run(["commit", "--quiet", "-m", "Plume: a small public notebook"], { cwd, env: identity }, signal);
  return (await git.run(["rev-parse", "HEAD"], { cwd }, signal)).trim();
}
