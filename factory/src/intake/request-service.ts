import type { CreateRequest, RequestReport } from "@harnais/contracts/api-bodies.ts";
import { createRequestId } from "@harnais/contracts/ids.ts";
import type { Intent, RequestStatus } from "@harnais/contracts/statuses.ts";
import type { Kysely } from "kysely";
import type { Tables } from "../db/tables.ts";
import { FactoryError } from "../lib/errors.ts";
import {
  getRequest,
  insertRequest,
  listRequests,
  listStaleRequests,
  listUndispatched,
  type RequestRow,
  updateRequestStatus,
} from "./request.sql.ts";

export interface RequestService {
  /** The console door: stores the request, then hands it on. */
  create(request: Omit<CreateRequest, "project"> & { readonly projectId: string | null }): Promise<RequestReport>;
  /** @throws not-found */
  report(id: string): Promise<RequestReport>;
  list(query: { after?: string; limit: number }): Promise<{ items: RequestReport[]; next: string | null }>;
  /** Moves a request to another state (`onlyFrom`: if it is in this one) and says so; an unchanged state says nothing. */
  /** Hands on what was stored and, by a crash, not handed on. */
  resume(): Promise<void>;
  /** Requests whose run has ended without them (a crash came between). */
  listStale(): Promise<{ id: string; runStatus: string; runReason: string | null }[]>;
  move(id: string, to: { status: RequestStatus; reason?: string | null; intent?: Intent; onlyFrom?: RequestStatus }): Promise<void>;
}

export interface RequestServiceDeps {
  readonly db: Kysely<Tables>;
  /** Takes secrets that the factory knows out of what was asked. */
  redactText(text: string): string;
  /** Stores the change as an event in the same transaction. */
  recordChange(
    trx: Kysely<Tables>,
    change: { id: string; from: RequestStatus; to: RequestStatus; reason: string | null },
  ): Promise<() => void>;
  /** Until classification is built a request without intent is a run; then it is dispatched. */
  dispatch(request: RequestReport): Promise<void>;
}

const STILL_ON_ITS_WAY_MS = 30_000;

export function createRequestService(deps: RequestServiceDeps): RequestService {
  const handOn = async (id: string, intent: Intent | undefined): Promise<void> => {
    await service.move(id, {
      status: "classified",
      intent: intent ?? "run",
      reason: intent === undefined ? "no classification yet: taken as a run" : "intent given at the door",
    });
    await deps.dispatch(await service.report(id));
  };
  const service: RequestService = {
    async create({ text, scope, intent, projectId }) {
      const id = createRequestId();
      await insertRequest(deps.db, { id, text: deps.redactText(text), projectId, scope: scope ?? null, intent: intent ?? null });
      await handOn(id, intent);
      return service.report(id);
    },
    async report(id) {
      const row = await getRequest(deps.db, id);
      if (row === undefined) throw new FactoryError("not-found", `no request ${id}`);
      return toReport(row);
    },
    async list({ limit, ...query }) {
      const rows = await listRequests(deps.db, { ...query, limit: limit + 1 });
      const items = rows.slice(0, limit).map(toReport);
      return { items, next: rows.length > limit ? (items.at(-1)?.requestId ?? null) : null };
    },
    async resume() {
      for (const id of await listUndispatched(deps.db, STILL_ON_ITS_WAY_MS))
        await handOn(id, (await service.report(id)).intent ?? undefined);
    },
    listStale: () => listStaleRequests(deps.db),
    async move(id, { status, reason = null, ...rest }) {
      const announce = await deps.db.transaction().execute(async (trx) => {
        const from = await updateRequestStatus(trx, id, { status, reason, ...rest });
        return from === undefined || from === status ? undefined : deps.recordChange(trx, { id, from, to: status, reason });
      });
      announce?.();
    },
  };
  return service;
}

function toReport(row: RequestRow): RequestReport {
  return {
    requestId: row.id,
    door: row.door,
    text: row.text,
    project: row.projectId,
    scope: row.scope,
    intent: row.intent,
    status: row.status,
    reason: row.reason,
    runId: row.runId,
    createdAt: row.createdAt,
  };
}
