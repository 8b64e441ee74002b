import type { EventFrame } from "@harnais/contracts/api-bodies.ts";
import { RunIdSchema } from "@harnais/contracts/ids.ts";
import { Hono } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { z } from "zod";
import type { EventFeed } from "../runs/event-feed.ts";
import { createFrameQueue } from "./frame-queue.ts";
import { validate } from "./validate.ts";

const Query = z.object({ run: RunIdSchema.optional(), after: z.coerce.number().int().min(0).optional() });

export interface EventsDeps {
  readonly feed: EventFeed;
  /** Stored events after `seq`, oldest first, at most `limit`. */
  listAfter(query: { seq: number; runId?: string; limit: number }): Promise<readonly EventFrame[]>;
  lastSeq(): Promise<number>;
  /** Ends every stream when the server stops. */
  readonly signal: AbortSignal;
}

const PAGE = 200;
/** Finds what another process stored. */
const POLL_MS = 1_000;
/** Keeps proxies from closing an idle stream. */
const PING_MS = 15_000;

/** `/api/events` (D4): `id` = events.seq, replay by Last-Event-ID (or `?after`); without either, from now on. */
export function eventsRoutes(deps: EventsDeps): Hono {
  return new Hono().get("/events", validate("query", Query), (c) => {
    const { run, after } = c.req.valid("query");
    const start = toSeq(c.req.header("last-event-id")) ?? after;
    return streamSSE(c, (stream) => sendEvents(stream, deps, { run, start }));
  });
}

function toSeq(lastEventId: string | undefined): number | undefined {
  return lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : undefined;
}

async function sendEvents(
  stream: SSEStreamingApi,
  deps: EventsDeps,
  { run, start }: { run: string | undefined; start: number | undefined },
): Promise<void> {
  const queue = createFrameQueue(deps.feed, run);
  const end = (): void => queue.close();
  stream.onAbort(end);
  deps.signal.addEventListener("abort", end, { once: true });
  try {
    let seq = start ?? (await deps.lastSeq());
    let quietSince = Date.now();
    await stream.write(": harnais events\n\n");
    while (!stream.aborted && !stream.closed && !deps.signal.aborted) {
      const live = queue.takeLive();
      const stored = await deps.listAfter({ seq, limit: PAGE, ...(run === undefined ? {} : { runId: run }) });
      for (const frame of [...stored, ...live]) {
        await stream.writeSSE({
          event: frame.type,
          data: JSON.stringify(frame),
          ...(frame.seq === null ? {} : { id: String(frame.seq) }),
        });
        seq = frame.seq ?? seq;
        quietSince = Date.now();
      }
      if (Date.now() - quietSince > PING_MS) {
        await stream.write(": still here\n\n");
        quietSince = Date.now();
      }
      if (stored.length < PAGE) await queue.waitForNews(POLL_MS);
    }
  } finally {
    queue.close();
    deps.signal.removeEventListener("abort", end);
  }
}
