import { commitTree, FACTORY_IDENTITY } from "./commit-tree.ts";
import { toRefComponent } from "./git-ref.ts";
import type { Git } from "./git.ts";
import { findSecrets } from "./secret-scan.ts";
import type { SecretScanner } from "./secret-patterns.ts";
import { withStagedTree } from "./stage-tree.ts";
import type { WorktreeRef } from "./worktree-place.ts";

export interface CheckpointDeps {
  readonly git: Git;
  readonly scanner: SecretScanner;
}

export interface CheckpointRequest {
  readonly worktree: WorktreeRef;
  readonly runId: string;
  readonly phaseName: string;
  readonly attempt: number;
  /** The commit that the checkpoint follows: the run's base, or its latest own commit. */
  readonly parent: string;
}

/**
 * Keeps the worktree as an attempt left it: a commit under `refs/harnais/<run_id>/<phase>-<attempt>`; the run's branch,
 * HEAD and index stay as they are. Returns the commit; null when the tree holds a secret: then nothing is stored.
 * @throws git-failed, not-found (no worktree).
 */
export async function checkpoint(
  { git, scanner }: CheckpointDeps,
  request: CheckpointRequest,
  signal: AbortSignal,
): Promise<string | null> {
  const { runId, phaseName, attempt, parent, worktree } = request;
  return withStagedTree(
    git,
    { worktree, parent },
    async (staged) => {
      if ((await findSecrets({ git, scanner }, { staged, parent }, signal)).length > 0) return null;
      await staged.keep();
      const message = `Checkpoint of ${phaseName}, attempt ${attempt}\n\nHarnais-Run: ${runId}\n`;
      const commit = await commitTree(git, { staged, parent, message, author: FACTORY_IDENTITY }, signal);
      const ref = `refs/harnais/${runId}/${toRefComponent(phaseName)}-${attempt}`;
      await git.run(["update-ref", "--no-deref", ref, commit], { cwd: worktree.repo }, signal);
      return commit;
    },
    signal,
  );
}
