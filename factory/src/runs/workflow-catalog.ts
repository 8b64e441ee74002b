import type { Workflow } from "@harnais/contracts/workflow.ts";
import { FactoryError } from "../lib/errors.ts";
import { toWorkflow } from "./list-workflow.ts";
import type { WorkProject } from "./workbench.ts";
import { createChangeWorkflow } from "./workflows/change.ts";
import { promptWorkflow } from "./workflows/prompt.ts";
import type { WorkSteps } from "./workflows/work-steps.ts";

/** Built-in workflows: none of a project's files may have one of these names. */
export const BUILT_IN_WORKFLOWS = ["prompt", "change"] as const;

/** A project's own workflow file, trusted by hash and imported from the factory's copy. */
export interface ProjectWorkflow {
  readonly exported: unknown;
  readonly sha: string;
}

export interface WorkflowCatalog {
  /** @throws unknown-workflow, empty-workflow, bad-workflow, untrusted-workflow: before anything starts. Returns the hash of a project's file. */
  check(name: string, project: WorkProject): Promise<string | null>;
  /** @throws as `check`; workflow-changed when the file is not the one that the run was made with. */
  load(name: string, project: WorkProject, options: { readonly steps: WorkSteps; readonly sha: string | null }): Promise<Workflow>;
}

/** `findProjectWorkflow` gives undefined when the project has no file of this name, and throws untrusted-workflow. */
export function createWorkflowCatalog(
  findProjectWorkflow: (project: WorkProject, name: string) => Promise<ProjectWorkflow | undefined>,
): WorkflowCatalog {
  const find = async (name: string, project: WorkProject): Promise<ProjectWorkflow> => {
    const found = await findProjectWorkflow(project, name);
    if (found !== undefined) return found;
    throw new FactoryError(
      "unknown-workflow",
      `unknown workflow ${name}: there are ${BUILT_IN_WORKFLOWS.join(", ")} and the files of .harnais/workflows/ in the project`,
      { field: "workflow" },
    );
  };
  return {
    async check(name, project) {
      if (isBuiltIn(name)) return null;
      const { exported, sha } = await find(name, project);
      toWorkflow(name, exported);
      return sha;
    },
    async load(name, project, { steps, sha }) {
      if (name === "prompt") return promptWorkflow;
      if (name === "change") return createChangeWorkflow(steps);
      const found = await find(name, project);
      if (sha !== null && found.sha !== sha) {
        throw new FactoryError("workflow-changed", `workflow ${name} has changed since the run was made: start a new run`);
      }
      return withWorktree(toWorkflow(name, found.exported), steps);
    },
  };
}

export const isBuiltIn = (name: string): boolean => (BUILT_IN_WORKFLOWS as readonly string[]).includes(name);

/** A project's own workflow works in a worktree like the built-in ones, and what it leaves uncommitted is committed. */
function withWorktree(workflow: Workflow, steps: WorkSteps): Workflow {
  return async (run) => {
    await run.code("worktree", (_run, signal) => steps.openWorktree(signal), { onInterrupt: "rerun" });
    const result = await workflow(run);
    if (await steps.hasChanges(run.signal)) {
      await run.code("commit", (_run, signal) => steps.commit(signal), { onInterrupt: { check: () => steps.isCommitted() } });
    }
    return result;
  };
}
