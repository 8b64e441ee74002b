import { hostname } from "node:os";
import { randomHex, type RunId } from "@harnais/contracts/ids.ts";
import type { ExecuteDeps } from "./execute-deps.ts";
import { executeRun } from "./execute-run.ts";
import { LeaseLost, RunCancelled } from "./run-failures.ts";
import type { LiveRuns } from "./run-service.ts";
import { type Lease, leaseNextRun, leaseRun, releaseLease, renewLease } from "./run.sql.ts";

const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
/** An announcement wakes the worker at once; the poll finds what nobody announced. */
const POLL_MS = 2_000;

export interface RunWorkerOptions {
  /** Runs at a time. */
  readonly concurrency: number;
  /** `any`: every queued run, oldest first; `announced`: only those made by this process (a command without server). */
  readonly scope: "any" | "announced";
  readonly live: LiveRuns;
  readonly deps: ExecuteDeps;
  /** Called when a run has ended, however. Must not throw. */
  onSettled(runId: RunId): Promise<void>;
  /** Called when a run's end could not be recorded; its lease is free. Must not throw. */
  onBroken(runId: RunId): Promise<void>;
}

/** Takes queued runs and carries them out. */
export class RunWorker {
  readonly owner = `${hostname()}-${process.pid}-${randomHex(3)}`;
  readonly #options: RunWorkerOptions;
  readonly #running = new Map<RunId, Promise<void>>();
  readonly #announced: RunId[] = [];
  #isStopping = false;
  #filling: Promise<void> | undefined;
  #isFillWanted = false;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: RunWorkerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.scope === "any") this.#poll = setInterval(() => this.#fill(), POLL_MS);
    this.#fill();
  }

  /** A run waits in the queue: look now. */
  announce(runId: RunId): void {
    if (this.#options.scope === "announced") this.#announced.push(runId);
    this.#fill();
  }

  isLive(runId: RunId): boolean {
    return this.#running.has(runId);
  }

  /** Takes nothing more, cancels what runs and waits for it. */
  async stop(reason: string): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#poll);
    await this.#filling;
    for (const controller of this.#options.live.controllers.values()) controller.abort(new RunCancelled(reason));
    await Promise.all(this.#running.values());
  }

  #fill(): void {
    this.#isFillWanted = true;
    this.#filling ??= this.#fillOnce().finally(() => {
      this.#filling = undefined;
      if (this.#isFillWanted && !this.#isStopping) this.#fill();
    });
  }

  async #fillOnce(): Promise<void> {
    this.#isFillWanted = false;
    while (!this.#isStopping && this.#running.size < this.#options.concurrency) {
      const lease = await this.#take().catch((error: unknown) => {
        this.#options.deps.log.error({ err: error }, "queue not read");
        return undefined;
      });
      if (lease === undefined) return;
      this.#carryOut(lease);
    }
  }

  async #take(): Promise<Lease | undefined> {
    const { db } = this.#options.deps;
    if (this.#options.scope === "any") return leaseNextRun(db, this.owner, LEASE_MS);
    for (let runId = this.#announced.shift(); runId !== undefined; runId = this.#announced.shift()) {
      const lease = await leaseRun(db, { runId, owner: this.owner, leaseMs: LEASE_MS });
      if (lease !== undefined) return lease;
    }
    return undefined;
  }

  #carryOut(lease: Lease): void {
    const { live } = this.#options;
    const controller = new AbortController();
    live.controllers.set(lease.runId, controller);
    const running = this.#execute(lease, controller).finally(() => {
      if (live.controllers.get(lease.runId) === controller) live.controllers.delete(lease.runId);
      this.#running.delete(lease.runId);
      this.#fill();
    });
    this.#running.set(lease.runId, running);
  }

  async #execute(lease: Lease, controller: AbortController): Promise<void> {
    const { deps, onSettled, onBroken } = this.#options;
    const renewal = this.#keepLease(lease, controller);
    try {
      await executeRun(lease, deps, controller.signal);
      await releaseLease(deps.db, lease);
    } catch (error) {
      const isLost = error instanceof LeaseLost;
      deps.log.error({ err: error, runId: lease.runId }, isLost ? "lease lost" : "run could not be recorded");
      if (!isLost) {
        // Still `running` in the database: without a holder it is taken over and ended.
        await releaseLease(deps.db, lease).catch(() => undefined);
        this.#running.delete(lease.runId);
        await onBroken(lease.runId);
      }
    } finally {
      clearInterval(renewal);
      await onSettled(lease.runId);
    }
  }

  /** Renews the lease; a run whose lease could not be renewed in time may be another's by now: it is stopped. */
  #keepLease(lease: Lease, controller: AbortController): NodeJS.Timeout {
    const { db, log } = this.#options.deps;
    let renewedAt = performance.now();
    const lose = (): void => controller.abort(new LeaseLost(`run ${lease.runId} is held by another worker`));
    const renew = async (): Promise<void> => {
      const startedAt = performance.now();
      try {
        if (await renewLease(db, lease, LEASE_MS)) renewedAt = startedAt;
        else lose();
      } catch (error) {
        log.warn({ err: error, runId: lease.runId }, "lease not renewed");
      }
    };
    return setInterval(() => {
      if (performance.now() - renewedAt > LEASE_MS) lose();
      else void renew();
    }, RENEW_MS);
  }
}
