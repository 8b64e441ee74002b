import type { ExecuteDeps } from "./execute-deps.ts";
import { requireLease } from "./run-failures.ts";
import type { RunState } from "./run-state.ts";
import { updateRun } from "./run.sql.ts";
import type { WorkProject } from "./workbench.ts";
import type { WorkSteps } from "./workflows/work-steps.ts";

const AUTHOR = "Atlas";
const SHORT_SHA = 10;

/** The code phases of the built-in workflows, bound to one run. */
export function bindWorkSteps(state: RunState, project: WorkProject, deps: ExecuteDeps): WorkSteps {
  const { runId, input } = state.row;
  return {
    validationAttempts: project.validationAttempts,
    async openWorktree(signal) {
      const { path, branch, baseSha, uncommittedChanges } = await deps.workbench.open(project, runId, signal);
      state.cwd = path;
      requireLease(await updateRun(deps.db, state.lease, { worktree: path, branch, baseSha }), runId);
      if (uncommittedChanges > 0) {
        const base = `${project.baseBranch}@${baseSha.slice(0, SHORT_SHA)}`;
        state.note = `${uncommittedChanges} uncommitted changes are not part of this run (base ${base})`;
      }
      return { path, branch, baseSha, uncommittedChanges, baseBranch: project.baseBranch };
    },
    async validate(signal) {
      const verdict = await deps.workbench.validate({ project, cwd: state.cwd, runId, request: input }, signal);
      state.note = `${verdict.ok ? "green" : "red"}: ${verdict.summary}`;
      return verdict;
    },
    async commit(signal) {
      const phaseId = [...state.agentPhases.values()].at(-1)?.phaseId ?? `${runId}-01`;
      const author = `${AUTHOR} (${state.harness})`;
      const { commit, files } = await deps.workbench.commit({ cwd: state.cwd, runId, phaseId, request: input, author }, signal);
      requireLease(await updateRun(deps.db, state.lease, { commitSha: commit }), runId);
      return { commit, files };
    },
    hasChanges: (signal) => deps.workbench.hasChanges(state.cwd, signal),
    isCommitted: async () => (await deps.workbench.findCommit(state.cwd, runId)) !== undefined,
  };
}
