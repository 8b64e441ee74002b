import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Json } from "@harnais/contracts/json.ts";
import type { Config } from "../config.ts";
import type { Launcher } from "../launcher/process.ts";
import { FactoryError } from "../lib/errors.ts";
import type { ValidationVerdict as PhaseVerdict, Workbench, WorkProject } from "../runs/workbench.ts";
import { checkpoint } from "./checkpoint.ts";
import { toCommitMessage } from "./commit-message.ts";
import { commitRun, findRunCommit } from "./commit.ts";
import type { Git } from "./git.ts";
import { findRepository } from "./repository.ts";
import type { SecretScanner } from "./secret-patterns.ts";
import { withStagedTree } from "./stage-tree.ts";
import { runValidation, toEnding, toValidationCorrection } from "./validation.ts";
import type { ValidationVerdict } from "./validation.ts";
import type { WorktreeRef } from "./worktree-place.ts";
import { createWorktree, removeWorktree } from "./worktree.ts";

export interface WorkbenchDeps {
  readonly git: Git;
  readonly launcher: Pick<Launcher, "runCommand">;
  readonly config: Pick<Config, "dataDir" | "worktreesDir" | "baseEnv">;
  readonly scanner: SecretScanner;
  redact(text: string): string;
  /** For what fails where the port may not throw. */
  warn(error: unknown, message: string): void;
}

/** What an open worktree was made from: never read back from the worktree, which the agent can write. */
interface OpenRun {
  readonly worktree: WorktreeRef;
  readonly baseSha: string;
  /** The run's latest own commit; the base before there is one. */
  parent: string;
}

const AUTHOR_EMAIL = "agent@harnais.invalid";

/**
 * The runs' port to git and validation, on `projects/`. A run resumed by another process calls `open` again first: it
 * gives the worktree as it stands.
 */
export function createWorkbench(deps: WorkbenchDeps): Workbench {
  const { git } = deps;
  const openRuns = new Map<string, OpenRun>();
  const find = (cwd: string): OpenRun => {
    const open = openRuns.get(cwd);
    if (open === undefined) throw new FactoryError("not-found", `no worktree is open at ${cwd}`);
    return open;
  };
  return {
    async open(project, runId, signal) {
      const made = await createWorktree(deps, { project, runId }, signal);
      const parent = (await findRunCommit(git, { repo: project.repo, runId }, signal)) ?? made.baseSha;
      openRuns.set(made.path, { worktree: { repo: project.repo, path: made.path }, baseSha: made.baseSha, parent });
      return made;
    },
    async keep({ cwd, ...attempt }) {
      try {
        const { worktree, parent } = find(cwd);
        return await checkpoint(deps, { ...attempt, worktree, parent }, neverAborted());
      } catch (error) {
        deps.warn(error, "no checkpoint of an attempt");
        return null;
      }
    },
    validate: ({ project, cwd, runId, request }, signal) => validate(deps, { project, cwd, runId, request }, signal),
    hasChanges: (cwd, signal) => withStagedTree(git, find(cwd), async ({ changes }) => changes.length > 0, signal),
    async commit({ cwd, runId, phaseId, request, author }, signal) {
      const open = find(cwd);
      const message = toCommitMessage({ request, redact: deps.redact });
      const { worktree, parent } = open;
      const identity = { name: author, email: AUTHOR_EMAIL };
      const { commit, files } = await commitRun(deps, { worktree, parent, runId, phaseId, message, author: identity }, signal);
      if (commit === null) throw new FactoryError("git-failed", "nothing to commit: the files of the worktree are those it started from");
      open.parent = commit;
      return { commit, files };
    },
    findCommit: async (cwd, runId) => {
      const repo = openRuns.get(cwd)?.worktree.repo ?? (await findRepository(git, cwd, neverAborted())).checkout;
      return findRunCommit(git, { repo, runId }, neverAborted());
    },
    async close(project, worktree) {
      const runId = basename(worktree);
      openRuns.delete(worktree);
      try {
        await removeWorktree(deps, { repo: project.repo, path: worktree, runId }, neverAborted());
        await rm(toHomeDir(deps, runId), { recursive: true, force: true });
      } catch (error) {
        deps.warn(error, "a worktree could not be removed");
      }
    },
  };
}

/** What must be done even when the run was cancelled; git's own time limit bounds it. */
const neverAborted = (): AbortSignal => new AbortController().signal;

const toHomeDir = ({ config }: WorkbenchDeps, runId: string): string => join(config.dataDir, "homes", runId);

async function validate(
  deps: WorkbenchDeps,
  work: { readonly project: WorkProject; readonly cwd: string; readonly runId: string; readonly request: string },
  signal: AbortSignal,
): Promise<PhaseVerdict> {
  const { project, cwd, runId, request } = work;
  const mark = { name: "HARNAIS_RUN_ID", value: runId };
  const env = { [mark.name]: mark.value };
  const verdict = await runValidation(deps, { commands: project.validation, cwd, homeDir: toHomeDir(deps, runId), env, mark }, signal);
  return {
    ok: verdict.ok,
    report: { ok: verdict.ok, commands: verdict.commands.map((step) => ({ ...step })) } satisfies Json,
    correction: verdict.ok ? "" : toValidationCorrection(verdict, request),
    summary: toSummary(verdict),
  };
}

/** e.g. `npm test ended with exit code 1`. */
function toSummary({ commands }: ValidationVerdict): string {
  const last = commands.at(-1);
  if (last === undefined) return "the project has no validation commands";
  return last.exitCode === 0
    ? `${commands.length} ${commands.length === 1 ? "command" : "commands"} passed`
    : `${last.command} ${toEnding(last)}`;
}
