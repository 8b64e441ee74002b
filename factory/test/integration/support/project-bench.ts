import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { createLauncher } from "../../../src/launcher/create-launcher.ts";
import type { Launcher } from "../../../src/launcher/process.ts";
import { createGit } from "../../../src/projects/git.ts";
import type { Git } from "../../../src/projects/git.ts";
import { createSampleRepository } from "../../../src/projects/sample-repository.ts";

export const ROOT_DIR = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "..");

/** A temporary folder with real git in it, gone after the test. */
export interface ProjectBench {
  readonly dir: string;
  readonly launcher: Launcher;
  readonly git: Git;
  readonly config: {
    readonly dataDir: string;
    readonly worktreesDir: undefined;
    readonly baseEnv: Record<string, string>;
    readonly rootDir: string;
  };
  readonly signal: AbortSignal;
  /** A fresh sample repository; its checkout and first commit. */
  sample(name?: string): Promise<{ readonly path: string; readonly commit: string }>;
  /** Git as a person would run it in `cwd`, with the hardened door. */
  run(cwd: string, ...args: string[]): Promise<string>;
}

export async function createProjectBench(): Promise<ProjectBench> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "harnais-projects-")));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const config = { dataDir: join(dir, "data"), worktreesDir: undefined, baseEnv: { PATH: process.env["PATH"] ?? "" }, rootDir: ROOT_DIR };
  const launcher = createLauncher();
  const git = createGit({ launcher, config });
  const { signal } = new AbortController();
  return {
    dir,
    launcher,
    git,
    config,
    signal,
    sample: (name = "plume") => createSampleRepository({ git, config }, join(dir, name), signal),
    run: async (cwd, ...args) => (await git.run(args, { cwd }, signal)).trimEnd(),
  };
}
