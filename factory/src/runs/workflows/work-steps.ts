import type { Json } from "@harnais/contracts/json.ts";
import type { ValidationVerdict } from "../workbench.ts";

/** The code phases that a built-in workflow owes to the house; bound to one run. */
export interface WorkSteps {
  openWorktree(signal: AbortSignal): Promise<Json>;
  validate(signal: AbortSignal): Promise<ValidationVerdict>;
  commit(signal: AbortSignal): Promise<Json>;
  isCommitted(): Promise<boolean>;
  /** True when the worktree holds work that no commit has. */
  hasChanges(signal: AbortSignal): Promise<boolean>;
  readonly validationAttempts: number;
}
