import type { RequestId } from "@harnais/contracts/ids.ts";
import type { Intent, RequestStatus } from "@harnais/contracts/statuses.ts";
import { type Selectable, sql } from "kysely";
import type { Db, RequestsTable } from "../db/tables.ts";

/** A request and its newest run. */
export type RequestRow = Selectable<RequestsTable> & { readonly runId: string | null };

export async function insertRequest(
  db: Db,
  request: { id: RequestId; text: string; projectId: string | null; scope: string | null; intent: Intent | null },
): Promise<void> {
  await db
    .insertInto("requests")
    .values({ ...request, door: "console", status: "received", reason: null })
    .execute();
}

/** Moves a request to another state; returns the state it was in, undefined when it did not move (`onlyFrom` names another state, no such request). */
export async function updateRequestStatus(
  db: Db,
  id: string,
  { onlyFrom, ...to }: { status: RequestStatus; reason: string | null; intent?: Intent; onlyFrom?: RequestStatus },
): Promise<RequestStatus | undefined> {
  const before = await db.selectFrom("requests").select("status").where("id", "=", id).forUpdate().executeTakeFirst();
  if (before === undefined || (onlyFrom !== undefined && before.status !== onlyFrom)) return undefined;
  await db.updateTable("requests").set(to).where("id", "=", id).execute();
  return before.status;
}

export async function getRequest(db: Db, id: string): Promise<RequestRow | undefined> {
  return selectRequests(db).where("requests.id", "=", id).executeTakeFirst();
}

/** Requests, newest first; `after` is the id of the last one of the page before. */
export async function listRequests(db: Db, { after, limit }: { after?: string; limit: number }): Promise<RequestRow[]> {
  let query = selectRequests(db).orderBy("requests.createdAt", "desc").orderBy("requests.id", "desc").limit(limit);
  if (after !== undefined) {
    query = query.where(sql<boolean>`(requests.created_at, requests.id) < (select created_at, id from requests where id = ${after})`);
  }
  return query.execute();
}

/** Requests that were stored and not handed on (a crash came between); those of this moment are still on their way. */
export async function listUndispatched(db: Db, olderThanMs: number): Promise<string[]> {
  const rows = await db
    .selectFrom("requests")
    .select("id")
    .where("status", "in", ["received", "classified"])
    .where("createdAt", "<", sql<string>`now() - ${olderThanMs} * interval '1 millisecond'`)
    .where((eb) => eb.not(eb.exists(eb.selectFrom("runs").select("runs.runId").whereRef("runs.requestId", "=", "requests.id"))))
    .orderBy("createdAt")
    .execute();
  return rows.map(({ id }) => id);
}

/** Requests whose run has moved on without them (a crash came between): their id, and the run's state. */
export async function listStaleRequests(db: Db): Promise<{ id: string; runId: string; runStatus: string; runReason: string | null }[]> {
  return db
    .selectFrom("requests")
    .innerJoin("runs", "runs.requestId", "requests.id")
    .select(["requests.id", "runs.runId", "runs.status as runStatus", "runs.reason as runReason"])
    .where("requests.status", "in", ["dispatched", "running", "waiting"])
    .where("runs.status", "in", ["done", "failed", "cancelled"])
    .execute();
}

function selectRequests(db: Db) {
  return db
    .selectFrom("requests")
    .select((eb) => [
      "requests.id",
      "requests.door",
      "requests.text",
      "requests.projectId",
      "requests.scope",
      "requests.intent",
      "requests.status",
      "requests.reason",
      "requests.createdAt",
      eb
        .selectFrom("runs")
        .select("runs.runId")
        .whereRef("runs.requestId", "=", "requests.id")
        .orderBy("runs.createdAt", "desc")
        .limit(1)
        .as("runId"),
    ]);
}
