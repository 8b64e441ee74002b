import { commitTree, FACTORY_IDENTITY } from "./commit-tree.ts";
import type { Identity } from "./commit-tree.ts";
import { parseRef, toRunBranch } from "./git-ref.ts";
import type { Git } from "./git.ts";
import type { SecretScanner } from "./secret-patterns.ts";
import { findSecrets, refuseSecrets } from "./secret-scan.ts";
import { withStagedTree } from "./stage-tree.ts";
import type { StagedTree } from "./stage-tree.ts";
import { openWorktree } from "./worktree-place.ts";
import type { WorktreeRef } from "./worktree-place.ts";

export interface CommitDeps {
  readonly git: Git;
  readonly scanner: SecretScanner;
}

export interface CommitRequest {
  readonly worktree: WorktreeRef;
  readonly runId: string;
  readonly phaseId: string;
  /** The parent: the run's base, or its earlier commit. Commits the agent made by itself since then are folded in. */
  readonly parent: string;
  /** Whole message without trailers (commit-message.ts). */
  readonly message: string;
  /** The agent's persona. */
  readonly author: Identity;
}

export interface RunCommit {
  /** Null: the worktree's files are those of the parent, there is nothing to commit. */
  readonly commit: string | null;
  /** Changed files, by path. */
  readonly files: readonly string[];
}

/**
 * Commits the worktree's files on `harnais/<run_id>` with the trailers `Harnais-Run` and `Harnais-Phase`, after the
 * secret scan. What it cannot scan or commit it refuses; nothing is half done.
 * @throws secret-found (naming file and line, nothing committed), git-failed, not-found (no worktree).
 */
export async function commitRun({ git, scanner }: CommitDeps, request: CommitRequest, signal: AbortSignal): Promise<RunCommit> {
  const { worktree, parent } = request;
  return withStagedTree(
    git,
    { worktree, parent: parseRef(parent, "parent") },
    async (staged) => {
      const files = staged.changes.map((change) => change.path);
      if (files.length === 0) return { commit: null, files };
      refuseSecrets(await findSecrets({ git, scanner }, { staged, parent }, signal));
      await staged.keep();
      return { commit: await commitOnBranch(git, { staged, request }, signal), files };
    },
    signal,
  );
}

async function commitOnBranch(git: Git, of: { staged: StagedTree; request: CommitRequest }, signal: AbortSignal): Promise<string> {
  const { staged, request } = of;
  const { runId, phaseId, parent, author } = request;
  const message = `${request.message.trimEnd()}\n\nHarnais-Run: ${runId}\nHarnais-Phase: ${phaseId}\n`;
  const commit = await commitTree(git, { staged, parent, message, author }, signal);
  const branch = `refs/heads/${toRunBranch(runId)}`;
  const { place } = await openWorktree(git, request.worktree, signal);
  // Wherever the agent left HEAD and index: the worktree stands on the run's branch, clean, for what comes next.
  await git.run(["symbolic-ref", "HEAD", branch], place, signal);
  await git.run(["update-ref", "-m", `harnais: ${phaseId}`, branch, commit], place, signal);
  await git.run(["read-tree", commit], place, signal);
  return commit;
}

const TRAILERS =
  "%H%x00%ce%x00%(trailers:key=Harnais-Run,valueonly,separator=%x2C)%x00%(trailers:key=Harnais-Phase,valueonly,separator=%x2C)";
const COMMITS_LOOKED_AT = 100;

/** The commit that a phase of the run has made on its branch, by committer and trailers; undefined when it has not (yet). */
export async function findRunCommit(
  git: Git,
  run: { readonly repo: string; readonly runId: string; readonly phaseId?: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const args = [
    "log",
    "--first-parent",
    `--max-count=${COMMITS_LOOKED_AT}`,
    `--format=${TRAILERS}`,
    `refs/heads/${toRunBranch(run.runId)}`,
    "--",
  ];
  const listed = await git.attempt(args, { cwd: run.repo }, signal);
  if (listed.exitCode !== 0) return undefined;
  for (const line of listed.stdout.split("\n")) {
    const [commit, committer, runId, phaseId] = line.split("\0");
    if (committer === FACTORY_IDENTITY.email && runId === run.runId && (run.phaseId === undefined || phaseId === run.phaseId))
      return commit;
  }
  return undefined;
}
