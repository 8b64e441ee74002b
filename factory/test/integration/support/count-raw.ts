import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The short independent count that the mirror must equal: whole lines of the raw files, each id once, the first one wins.
 * Knows nothing of the mirror's code.
 */
export function countRaw(dataDir: string): Record<string, string> {
  const folder = join(dataDir, "traces", "harness");
  const events: Record<string, string> = {};
  for (const name of readdirSync(folder).sort()) {
    for (const line of readFileSync(join(folder, name)).toString("utf8").split("\n")) {
      if (line.length > 16 * 1024 * 1024) continue;
      let event: Record<string, unknown> | null;
      try {
        event = JSON.parse(line) as Record<string, unknown> | null;
      } catch {
        continue;
      }
      const id = event?.["event_id"];
      if (
        typeof id !== "string" ||
        !/^hev_[0-9a-f]{12}$/.test(id) ||
        typeof event?.["session_id"] !== "string" ||
        Object.hasOwn(events, id)
      )
        continue;
      events[id] = JSON.stringify([event["session_id"], event["type"], event["name"], event["ts"], event["payload"]]);
    }
  }
  return events;
}
