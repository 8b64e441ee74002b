import type { Json } from "@harnais/contracts/json.ts";
import type { ReadStructured } from "../ai/structured-port.ts";
import { readDriverSettings } from "../projects/git-drivers.ts";
import { FACTORY_FOLDERS } from "../projects/git-exclude.ts";
import type { Git } from "../projects/git.ts";
import type { CallBook } from "./call-book.ts";
import type { Job } from "./job.ts";
import { type AttemptFailure, failed } from "./judge-attempt.ts";

export interface OwedDeps {
  readonly git: Git;
  readonly readStructured: ReadStructured;
}

export type OwedResult = AttemptFailure | { readonly type: "done"; readonly value?: Json };

/** What the mode owes beside a normal end: a change in the worktree (`code`), a value that fits the schema (`output`). */
export async function checkOwed(
  job: Job,
  { git, readStructured }: OwedDeps,
  { text, book }: { text: string; book: CallBook },
  signal: AbortSignal,
): Promise<OwedResult> {
  if (job.mode === "code" && !(await hasChanged(git, job, signal)))
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

/** Work in the worktree, committed by the agent itself or not. */
async function hasChanged(git: Git, { cwd, baseSha }: Job, signal: AbortSignal): Promise<boolean> {
  if ((await countChanges(git, cwd, signal)) > 0) return true;
  return baseSha !== undefined && (await git.run(["rev-parse", "HEAD"], { cwd }, signal)).trim() !== baseSha;
}

/** Changes of the worktree against its HEAD, new files included, the factory's own folders left out. */
async function countChanges(git: Git, cwd: string, signal: AbortSignal): Promise<number> {
  const settings = await readDriverSettings(git, { cwd }, signal);
  const args = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=all", "--", "."];
  const listed = await git.run([...args, ...FACTORY_FOLDERS.map((folder) => `:(top,exclude)${folder}`)], { cwd, settings }, signal);
  return listed.split("\0").filter((entry) => entry !== "").length;
}
