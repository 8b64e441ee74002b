import type { EventFrame } from "@harnais/contracts/api-bodies.ts";

/** What is said to everybody who watches, as it happens, in this process. Stored events are also in the database. */
export interface EventFeed {
  publish(frame: EventFrame): void;
  /** `listener` must not throw. Returns the end of the subscription. */
  subscribe(listener: (frame: EventFrame) => void): () => void;
}

export function createEventFeed(): EventFeed {
  const listeners = new Set<(frame: EventFrame) => void>();
  return {
    publish(frame) {
      for (const listener of listeners) listener(frame);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
