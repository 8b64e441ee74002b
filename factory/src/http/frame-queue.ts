import type { EventFrame } from "@harnais/contracts/api-bodies.ts";
import type { EventFeed } from "../runs/event-feed.ts";

/** Live frames of one watcher, and a bell that rings for stored ones. */
export interface FrameQueue {
  /** Frames that are not stored (progress, log), since the last call. */
  takeLive(): EventFrame[];
  /** Resolves when something was said since the last `takeLive`, or after `timeoutMs`, or when closed. */
  waitForNews(timeoutMs: number): Promise<void>;
  close(): void;
}

/** A reader so slow that more frames wait loses progress frames, never stored ones. */
const MAX_WAITING_FRAMES = 1_000;

export function createFrameQueue(feed: EventFeed, runId: string | undefined): FrameQueue {
  let live: EventFrame[] = [];
  let hasNews = false;
  let ring: () => void = () => undefined;
  const unsubscribe = feed.subscribe((frame) => {
    if (runId !== undefined && frame.runId !== runId) return;
    if (frame.seq === null && live.length < MAX_WAITING_FRAMES) live.push(frame);
    hasNews = true;
    ring();
  });
  return {
    takeLive() {
      hasNews = false;
      const taken = live;
      live = [];
      return taken;
    },
    async waitForNews(timeoutMs) {
      if (hasNews) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    close() {
      unsubscribe();
      hasNews = true;
      ring();
    },
  };
}
