import { cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { FactoryError } from "../lib/errors.ts";
import { FACTORY_IDENTITY } from "./commit-tree.ts";
import type { Git } from "./git.ts";

/**
 * Copies the sample project into `target` (made when missing; must be empty) as a git repository with one commit on
 * `main`. For the demo and for tests.
 * @throws conflict when the folder is not empty; git-failed.
 */
export async function createSampleRepository(
  { git, config }: { readonly git: Git; readonly config: Pick<Config, "rootDir"> },
  target: string,
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly commit: string }> {
  await mkdir(target, { recursive: true });
  if ((await readdir(target)).length > 0) throw new FactoryError("conflict", `${target} is not empty: name another folder`);
  await cp(join(config.rootDir, "factory", "sample-project"), target, { recursive: true });
  const identity = {
    GIT_AUTHOR_NAME: FACTORY_IDENTITY.name,
    GIT_AUTHOR_EMAIL: FACTORY_IDENTITY.email,
    GIT_COMMITTER_NAME: FACTORY_IDENTITY.name,
    GIT_COMMITTER_EMAIL: FACTORY_IDENTITY.email,
  };
  await git.run(["init", "--quiet", "--initial-branch=main", "--template="], { cwd: target }, signal);
  await git.run(["add", "--all"], { cwd: target }, signal);
  await git.run(["commit", "--quiet", "-m", "Plume: a small public notebook"], { cwd: target, env: identity }, signal);
  return { path: target, commit: (await git.run(["rev-parse", "HEAD"], { cwd: target }, signal)).trim() };
}
