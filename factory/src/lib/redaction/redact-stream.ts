import type { Redactor } from "../redaction.ts";

/** Redacts a text that comes in pieces: whole lines go through, so that no secret hides on the edge of two pieces. */
export interface RedactionStream {
  /** Takes a piece, returns what is safe to store by now. */
  write(chunk: string): string;
  /** The rest. */
  end(): string;
}

// A line without end is let through in pieces of this size, the last part held back for a secret that goes on.
const MAX_HELD_CHARS = 1024 * 1024;
const OVERLAP_CHARS = 4096;
// A private key is several lines: they are held until its end, but not for ever.
const MAX_KEY_CHARS = 20_000;
const KEY_BEGIN = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_END = "-----END ";

/** The line-wise variant of `redactor.redact`. */
export function createRedactionStream(redactor: Redactor): RedactionStream {
  let held = "";
  return {
    write(chunk) {
      held += chunk;
      const cut = findCut(held);
      if (cut === 0) return "";
      const ready = held.slice(0, cut);
      held = held.slice(cut);
      return redactor.redact(ready);
    },
    end() {
      const rest = redactor.redact(held);
      held = "";
      return rest;
    },
  };
}

/** How much of `held` may leave: whole lines, but not the lines of a key that has not ended. */
function findCut(held: string): number {
  const lines = held.lastIndexOf("\n") + 1;
  const openKey = findOpenKey(held.slice(0, lines));
  if (openKey !== -1 && held.length - openKey < MAX_KEY_CHARS) return openKey;
  if (lines > 0) return lines;
  if (held.length <= MAX_HELD_CHARS) return 0;
  // A blank is inside no token; without one the edge is arbitrary, but the overlap stays.
  const edge = held.length - OVERLAP_CHARS;
  const blank = held.lastIndexOf(" ", edge);
  return blank > edge - OVERLAP_CHARS ? blank : edge;
}

function findOpenKey(text: string): number {
  const last = [...text.matchAll(KEY_BEGIN)].at(-1);
  if (last === undefined) return -1;
  return text.indexOf(KEY_END, last.index) === -1 ? last.index : -1;
}
