import type { Json } from "@harnais/contracts/json.ts";

// What runs need of a project's repository; main.ts wires it to projects/ (git through the launcher).

export interface Worktree {
  readonly path: string;
  readonly branch: string;
  readonly baseSha: string;
  /** Changes of the checkout that are not part of the run. */
  readonly uncommittedChanges: number;
}

export interface WorkProject {
  readonly id: string;
  readonly name: string;
  readonly repo: string;
  readonly baseBranch: string;
  readonly validation: readonly string[];
  readonly validationAttempts: number;
}

export interface ValidationVerdict {
  readonly ok: boolean;
  /** Plain data for the phase's result. */
  readonly report: Json;
  /** What the agent is told when red. */
  readonly correction: string;
  /** One line, e.g. `npm test: exit 1`. */
  readonly summary: string;
}

export interface Workbench {
  /** Makes the run's worktree and branch; the same again when it is there. @throws git-failed, not-a-repository, bad-ref */
  open(project: WorkProject, runId: string, signal: AbortSignal): Promise<Worktree>;
  /** Keeps the worktree as it is as a commit outside any branch; null when it could not. Never throws. */
  keep(attempt: {
    readonly cwd: string;
    readonly runId: string;
    readonly phaseName: string;
    readonly attempt: number;
  }): Promise<string | null>;
  validate(work: { project: WorkProject; cwd: string; runId: string; request: string }, signal: AbortSignal): Promise<ValidationVerdict>;
  hasChanges(cwd: string, signal: AbortSignal): Promise<boolean>;
  /** Commits all work on the run's branch. @throws secret-found, git-failed */
  commit(
    work: { cwd: string; runId: string; phaseId: string; request: string; author: string },
    signal: AbortSignal,
  ): Promise<{ readonly commit: string; readonly files: readonly string[] }>;
  /** The run's own commit, found by its trailer; undefined when there is none. */
  findCommit(cwd: string, runId: string): Promise<string | undefined>;
  /** Removes the worktree; the branch stays. Never throws. */
  close(project: WorkProject, worktree: string): Promise<void>;
}
