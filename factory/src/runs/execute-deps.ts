import type { Workflow } from "@harnais/contracts/workflow.ts";
import type { RunDeps, RunState } from "./run-state.ts";
import type { WorkProject } from "./workbench.ts";
import type { WorkSteps } from "./workflows/work-steps.ts";

/** What carrying out a run needs of the house; main.ts wires it. */
export interface ExecuteDeps extends RunDeps {
  readonly tracesDir: string;
  /** `provider/id` where neither the run nor its project names one. */
  readonly defaultModel: string;
  findProject(projectId: string): Promise<WorkProject & { readonly agent: RunState["harness"]; readonly model: string | null }>;
  /** @throws unknown-workflow, empty-workflow, bad-workflow, untrusted-workflow, workflow-changed */
  loadWorkflow(name: string, project: WorkProject, options: { readonly steps: WorkSteps; readonly sha: string | null }): Promise<Workflow>;
  /** Makes what the project brings (scenarios of the rehearsal model) the run's own, until `revokeRun`. */
  grantRun(runId: string, project: WorkProject): void;
  /** Ends the run's rights: its proxy tokens are dead. */
  revokeRun(runId: string): void;
  /** Takes what must not be stored out of an event's words. */
  redact(payload: Record<string, unknown>): Record<string, unknown>;
  /** A run's journal misses events that the database has: complete it when it can be written again. */
  journalBehind(runId: string): void;
  /** Puts a question to the operator; resolves with the answer. */
  waitForAnswer(runId: string, signal: AbortSignal): Promise<string>;
}
