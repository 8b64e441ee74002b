import type { EventFrame } from "@harnais/contracts/api-bodies.ts";
import type { RequestStatus } from "@harnais/contracts/statuses.ts";
import type { EventFeed } from "../runs/event-feed.ts";
import { toRequestStatus } from "./dispatch-request.ts";

export interface FollowRunsDeps {
  readonly feed: EventFeed;
  /** The request that a run belongs to; null when it has none. */
  findRequestOf(runId: string): Promise<string | null>;
  move(requestId: string, to: { status: RequestStatus; reason: string | null }): Promise<void>;
  warn(error: unknown, message: string): void;
}

/** Keeps requests in step with their runs, in the order of the events. The result ends it and waits for what is under way. */
export function followRuns({ feed, findRequestOf, move, warn }: FollowRunsDeps): () => Promise<void> {
  let last = Promise.resolve();
  const follow = async ({ runId, type, payload }: EventFrame): Promise<void> => {
    const to = toRequestStatus(type, payload);
    if (to === undefined || runId === null) return;
    const requestId = await findRequestOf(runId);
    if (requestId !== null) await move(requestId, to);
  };
  const unsubscribe = feed.subscribe((frame) => {
    if (frame.seq === null || toRequestStatus(frame.type, frame.payload) === undefined) return;
    // A request left behind (the base went away) is caught up at the next start.
    last = last.then(() => follow(frame)).catch((error: unknown) => warn(error, "a request is behind its run"));
  });
  return async () => {
    unsubscribe();
    await last;
  };
}
