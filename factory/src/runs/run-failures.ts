import type { FailureCause } from "@harnais/contracts/statuses.ts";
import { FactoryError, messageOf } from "../lib/errors.ts";

/** A phase that ended as failed, with its reason: `run.fail(reason)` throws it. */
export class PhaseFailure extends Error {
  override readonly name = "PhaseFailure";
  readonly failureCause: FailureCause;

  constructor(reason: string, failureCause: FailureCause = "workflow") {
    super(reason);
    this.failureCause = failureCause;
  }
}

/** Somebody cancelled the run: the abort reason of its signal. */
export class RunCancelled extends Error {
  override readonly name = "RunCancelled";
}

/** Another worker holds the run, or its row is gone: nothing more may be written for it. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** @throws LeaseLost when a write that checks the fence touched nothing. */
export function requireLease(isHeld: boolean, runId: string): void {
  if (!isHeld) throw new LeaseLost(`run ${runId} is held by another worker`);
}

/** The runner's journal could not be written (disk full, read-only): no new model call may start. */
export class JournalUnwritable extends FactoryError {
  override readonly name = "JournalUnwritable";

  constructor(file: string, cause: unknown) {
    super("storage", `cannot write ${file} (${messageOf(cause)}): free space or mend its permissions`, { cause });
  }
}
