// Takes the usage chunk, which we asked for, out of the stream of a client that did not.

const MAX_EVENT_BYTES = 256 * 1024;
const LF = 10;
const CR = 13;

export interface UsageFilter {
  /** What may go on of the stream so far; empty while an event is not whole. */
  push(chunk: Buffer): Buffer;
  /** The rest at the end of the stream. */
  flush(): Buffer;
}

/** Forwards whole events; one that is larger than 256 KiB goes through as it comes. */
export function createUsageFilter(): UsageFilter {
  let held: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const passed: Buffer[] = [];
      for (let end = eventEnd(held); end !== -1; end = eventEnd(held)) {
        const event = held.subarray(0, end);
        if (!isUsageEvent(event)) passed.push(event);
        held = held.subarray(end);
      }
      if (held.length > MAX_EVENT_BYTES) {
        passed.push(held);
        held = Buffer.alloc(0);
      }
      return passed.length === 1 && passed[0] !== undefined ? passed[0] : Buffer.concat(passed);
    },
    flush() {
      const rest = isUsageEvent(held) ? Buffer.alloc(0) : held;
      held = Buffer.alloc(0);
      return rest;
    },
  };
}

/** Index after the empty line that ends the first event; -1 when there is none yet. */
function eventEnd(bytes: Buffer): number {
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

function isUsageEvent(event: Buffer): boolean {
  if (!event.includes('"usage"')) return false;
  const text = event.toString("utf8").trim();
  if (!text.startsWith("data:")) return false;
  try {
    const value: unknown = JSON.parse(text.slice(5));
    if (typeof value !== "object" || value === null || !("choices" in value) || !("usage" in value)) return false;
    return Array.isArray(value.choices) && value.choices.length === 0 && typeof value.usage === "object" && value.usage !== null;
  } catch {
    return false;
  }
}
