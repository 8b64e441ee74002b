import { findLastBillNumber } from "./last-bill-number.ts";
import type { ModelRoute, RoutedCatalog } from "./model-catalog.ts";
import type { ProxyClaims } from "./proxy-port.ts";

/** A job whose calls are billed: its model's way and price hold from its first call to its end, so that all books use one price. */
export interface BilledJob {
  readonly route: ModelRoute;
  /** Number of its next bill, from 1. */
  nextNumber(): number;
}

export interface JobBook {
  /** @throws what the catalogue throws; the next call of the job looks again. */
  find(claims: ProxyClaims): Promise<BilledJob>;
  forgetRun(runId: string): void;
}

export function createJobBook(dataDir: string, catalog: RoutedCatalog): JobBook {
  const byRun = new Map<string, Map<string, Promise<BilledJob>>>();

  async function open(claims: ProxyClaims): Promise<BilledJob> {
    const route = await catalog.route(claims.provider, claims.model, { runId: claims.runId });
    // The factory's own calls of a run that waited span processes; an attempt's job lives in one.
    let last = claims.jobId.endsWith("-f") ? await findLastBillNumber(dataDir, claims.jobId) : 0;
    return { route, nextNumber: () => ++last };
  }

  return {
    async find(claims) {
      const jobs = byRun.get(claims.runId) ?? new Map<string, Promise<BilledJob>>();
      byRun.set(claims.runId, jobs);
      const job = jobs.get(claims.jobId) ?? open(claims);
      jobs.set(claims.jobId, job);
      try {
        return await job;
      } catch (error) {
        jobs.delete(claims.jobId);
        throw error;
      }
    },
    forgetRun(runId) {
      byRun.delete(runId);
    },
  };
}
