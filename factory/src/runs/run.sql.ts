import type { RunId } from "@harnais/contracts/ids.ts";
import type { Harness, RunStatus } from "@harnais/contracts/statuses.ts";
import { type Selectable, sql } from "kysely";
import type { Db, RunsTable } from "../db/tables.ts";

export type RunRow = Selectable<RunsTable>;

/** What names a leased run: writes of another holder are refused by the fence. */
export interface Lease {
  readonly runId: RunId;
  readonly owner: string;
  readonly fence: number;
}

export interface NewRun {
  readonly runId: RunId;
  readonly requestId: string | null;
  readonly projectId: string;
  readonly workflow: string;
  readonly workflowSha: string | null;
  readonly input: string;
  readonly agent: Harness | null;
  readonly model: string | null;
}

const COLUMNS = [
  "runId",
  "requestId",
  "projectId",
  "workflow",
  "workflowSha",
  "input",
  "agent",
  "model",
  "status",
  "level",
  "rehearsal",
  "cause",
  "reason",
  "question",
  "resultText",
  "leaseOwner",
  "leaseUntil",
  "fence",
  "worktree",
  "branch",
  "baseSha",
  "commitSha",
  "costUsd",
  "costComplete",
  "tokens",
  "createdAt",
  "startedAt",
  "finishedAt",
] as const;

export async function insertRun(db: Db, run: NewRun): Promise<void> {
  await db
    .insertInto("runs")
    .values({ ...run, status: "queued", level: "none", rehearsal: false, cause: null, reason: null, question: null, resultText: null })
    .execute();
}

export async function getRun(db: Db, runId: RunId): Promise<RunRow | undefined> {
  return db.selectFrom("runs").select(COLUMNS).where("runId", "=", runId).executeTakeFirst();
}

/** Runs, newest first; `after` is the id of the last run of the page before. */
export async function listRuns(
  db: Db,
  { after, limit, status, projectId }: { after?: RunId; limit: number; status?: RunStatus; projectId?: string },
): Promise<RunRow[]> {
  let query = db.selectFrom("runs").select(COLUMNS).orderBy("createdAt", "desc").orderBy("runId", "desc").limit(limit);
  if (status !== undefined) query = query.where("status", "=", status);
  if (projectId !== undefined) query = query.where("projectId", "=", projectId);
  if (after !== undefined) {
    query = query.where(sql<boolean>`(created_at, run_id) < (select created_at, run_id from runs where run_id = ${after})`);
  }
  return query.execute();
}

/** Leases the oldest queued run to `owner` with a new fencing token; undefined when none waits. */
export async function leaseNextRun(db: Db, owner: string, leaseMs: number): Promise<Lease | undefined> {
  return lease(
    db,
    owner,
    leaseMs,
    sql`select run_id from runs where status = 'queued' order by created_at, run_id limit 1 for update skip locked`,
  );
}

/** Leases one queued run; undefined when it is not queued (any more) or somebody holds it. */
export async function leaseRun(
  db: Db,
  { runId, owner, leaseMs }: { runId: RunId; owner: string; leaseMs: number },
): Promise<Lease | undefined> {
  return lease(db, owner, leaseMs, sql`select run_id from runs where run_id = ${runId} and status = 'queued' for update skip locked`);
}

async function lease(db: Db, owner: string, leaseMs: number, chosen: ReturnType<typeof sql>): Promise<Lease | undefined> {
  const row = await db
    .updateTable("runs")
    .set({ status: "running", leaseOwner: owner, leaseUntil: inMs(leaseMs), fence: sql<number>`fence + 1` })
    .where("runId", "in", sql<string>`(${chosen})`)
    .returning(["runId", "fence"])
    .executeTakeFirst();
  return row === undefined ? undefined : { runId: row.runId, owner, fence: row.fence };
}

/** Renews a lease; false when it is not ours any more. */
export async function renewLease(db: Db, held: Lease, leaseMs: number): Promise<boolean> {
  const row = await db
    .updateTable("runs")
    .set({ leaseUntil: inMs(leaseMs) })
    .where("runId", "=", held.runId)
    .where("leaseOwner", "=", held.owner)
    .where("fence", "=", held.fence)
    .returning("runId")
    .executeTakeFirst();
  return row !== undefined;
}

export async function releaseLease(db: Db, held: Lease): Promise<void> {
  await db
    .updateTable("runs")
    .set({ leaseOwner: null, leaseUntil: null })
    .where("runId", "=", held.runId)
    .where("fence", "=", held.fence)
    .execute();
}

/**
 * Takes over runs whose holder has not renewed its lease: they were interrupted by a crash. `isSoleProcess`: nobody else
 * can hold one (the embedded base has one owner), so that no lease is waited for. Runs that are `isLive` in this process
 * are left alone.
 */
export async function leaseAbandonedRuns(
  db: Db,
  options: { owner: string; leaseMs: number; isSoleProcess: boolean; isLive(runId: RunId): boolean },
): Promise<Lease[]> {
  const live = await db
    .selectFrom("runs")
    .select(["runId", "leaseOwner", "fence", sql<boolean>`lease_until is null or lease_until < now()`.as("isExpired")])
    .where("status", "in", ["running", "waiting"])
    .execute();
  const leases: Lease[] = [];
  for (const { runId, leaseOwner, fence, isExpired } of live) {
    const isAbandoned = leaseOwner === null || isExpired || (options.isSoleProcess && !leaseOwner.startsWith(options.owner));
    if (!isAbandoned || options.isLive(runId)) continue;
    const row = await db
      .updateTable("runs")
      .set({ leaseOwner: options.owner, leaseUntil: inMs(options.leaseMs), fence: sql<number>`fence + 1` })
      .where("runId", "=", runId)
      .where("fence", "=", fence)
      .returning("fence")
      .executeTakeFirst();
    if (row !== undefined) leases.push({ runId, owner: options.owner, fence: row.fence });
  }
  return leases;
}

/** Sets what the factory learns of a run outside its events (worktree, commit, the text it ends with). False: the lease is not ours any more. */
export async function updateRun(
  db: Db,
  held: Lease,
  values: Partial<Pick<RunRow, "worktree" | "branch" | "baseSha" | "commitSha" | "resultText">>,
): Promise<boolean> {
  const row = await db
    .updateTable("runs")
    .set(values)
    .where("runId", "=", held.runId)
    .where("leaseOwner", "=", held.owner)
    .where("fence", "=", held.fence)
    .returning("runId")
    .executeTakeFirst();
  return row !== undefined;
}

/** Puts a run that was leased but never started back into the queue, where it stood. */
export async function requeueRun(db: Db, held: Lease): Promise<void> {
  await db
    .updateTable("runs")
    .set({ status: "queued", leaseOwner: null, leaseUntil: null })
    .where("runId", "=", held.runId)
    .where("fence", "=", held.fence)
    .execute();
}

const inMs = (ms: number): ReturnType<typeof sql<string>> => sql<string>`now() + ${ms} * interval '1 millisecond'`;
