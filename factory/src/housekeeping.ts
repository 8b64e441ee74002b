import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { Tables } from "./db/tables.ts";
import { toEndStatus } from "./dispatch/dispatch-request.ts";
import { SESSION_MARK } from "./executor/prepare-attempt.ts";
import type { RequestService } from "./intake/request-service.ts";
import type { Launcher } from "./launcher/process.ts";
import { completeJournal, findJournalsBehind } from "./runs/complete-journals.ts";
import type { ExecuteDeps } from "./runs/execute-deps.ts";
import { recoverRuns } from "./runs/recover-runs.ts";

const RUN_MARK = "HARNAIS_RUN_ID";

export interface HousekeepingDeps {
  readonly db: Kysely<Tables>;
  readonly launcher: Launcher;
  readonly log: Logger;
  readonly execute: ExecuteDeps;
  readonly requests: RequestService;
  /** This process as holder of leases. */
  readonly owner: string;
  /** The embedded base: no other process can hold a lease. */
  readonly isSoleProcess: boolean;
  isLive(runId: string): boolean;
  /** Runs whose journal could not be written; those that can be are completed and taken out. */
  readonly journalsBehind: Set<string>;
}

/** What a crash, a full disk or a lost database left behind, put right: at every start, then again and again. Never rejects; one at a time. */
export function createHousekeeping(deps: HousekeepingDeps): () => Promise<void> {
  let isFirst = true;
  let running: Promise<void> | undefined;
  const keepHouse = async (): Promise<void> => {
    const { db, log, execute } = deps;
    try {
      const sweep = (mark: { runId: string; sessionIds: readonly string[] }): Promise<void> => sweepRun(deps, mark);
      const count = await recoverRuns(execute, { ...deps, sweep });
      if (count > 0) log.warn({ count }, "runs that a crash left behind were ended");
      if (isFirst) for (const runId of await findJournalsBehind({ db, tracesDir: execute.tracesDir })) deps.journalsBehind.add(runId);
      isFirst = false;
      await completeJournals(deps);
      await deps.requests.resume();
      for (const { id, runStatus, runReason } of await deps.requests.listStale())
        await deps.requests.move(id, toEndStatus(runStatus, runReason));
    } catch (error) {
      log.error({ err: error }, "housekeeping failed");
    }
  };
  return () => {
    running ??= keepHouse().finally(() => (running = undefined));
    return running;
  };
}

async function sweepRun(
  { launcher, log }: HousekeepingDeps,
  { runId, sessionIds }: { runId: string; sessionIds: readonly string[] },
): Promise<void> {
  const marks = [...sessionIds.map((value) => ({ name: SESSION_MARK, value })), { name: RUN_MARK, value: runId }];
  for (const mark of marks) {
    const { survivors } = await launcher.sweep(mark);
    if (survivors.length > 0) log.error({ runId, survivors }, "processes of a run outlived the sweep");
  }
}

async function completeJournals({ db, execute, journalsBehind, isLive, log }: HousekeepingDeps): Promise<void> {
  for (const runId of journalsBehind) {
    if (isLive(runId)) continue;
    try {
      await completeJournal({ db, tracesDir: execute.tracesDir }, runId);
      journalsBehind.delete(runId);
    } catch (error) {
      log.warn({ err: error, runId }, "journal still incomplete");
    }
  }
}
