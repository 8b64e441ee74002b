import type { Json } from "@harnais/contracts/json.ts";
import type { ReadStructured } from "../ai/structured-port.ts";
import type { CallBook } from "./call-book.ts";
import type { Job } from "./job.ts";
import { type AttemptFailure, failed } from "./judge-attempt.ts";

export interface OwedDeps {
  /** Whether the job's worktree holds work of the run, committed by the agent itself or not. @throws git-failed, not-found */
  readonly hasChanges: (job: Job, signal: AbortSignal) => Promise<boolean>;
  readonly readStructured: ReadStructured;
}

export type OwedResult = AttemptFailure | { readonly type: "done"; readonly value?: Json };

/** What the mode owes beside a normal end: a change in the worktree (`code`), a value that fits the schema (`output`). */
export async function checkOwed(
  job: Job,
  { hasChanges, readStructured }: OwedDeps,
  { text, book }: { text: string; book: CallBook },
  signal: AbortSignal,
): Promise<OwedResult> {
  if (job.mode === "code" && !(await hasChanges(job, signal)))
    return failed("no-changes", "the agent said it was done but changed no file");
  if (job.output === undefined) return { type: "done" };
  const { runId, phaseId, attempt, model } = job;
  const { ok, value, diagnostics, calls } = await readStructured(
    { text, schema: job.output.schema, runId, phaseId, attempt, model },
    signal,
  );
  book.addFactoryCalls(calls);
  if (ok && value !== undefined) return { type: "done", value };
  const why = [diagnostics.primaryError, diagnostics.repairError].filter((part) => part !== undefined).join("; repair: ");
  return failed("no-usable-output", `the answer is not the structured output that was asked for${why === "" ? "" : `: ${why}`}`);
}
