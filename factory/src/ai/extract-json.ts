import { type Json, parseJson as parseAnyJson } from "@harnais/contracts/json.ts";

// JSON in a model's text: alone, in fences, or in prose. Hostile text costs a bounded number of steps.

const MAX_STEPS = 20_000_000;
const MAX_CANDIDATES = 100;

/** Every JSON document found in a text, the likeliest answer last: in prose and fences the final one is meant. */
export function extractJson(text: string): readonly Json[] {
  const whole = parseJson(text.replace(/^\uFEFF/, "").trim());
  if (whole !== undefined) return [whole];
  return [...findBalanced(text), ...findFenced(text)].slice(-MAX_CANDIDATES);
}

/** True when a text holds its JSON document twice over, as a stream that was repeated does. */
export function looksDoubled(text: string): boolean {
  if (parseJson(text.trim()) !== undefined) return false;
  const documents = findBalanced(text).map(toComparable);
  return documents.length > 1 && new Set(documents).size < documents.length;
}

function findFenced(text: string): readonly Json[] {
  const found: Json[] = [];
  const pieces = text.split("```");
  // Odd pieces are inside fences; the first line may name a language.
  for (let index = 1; index < pieces.length; index += 2) {
    const value = parseJson((pieces[index] ?? "").replace(/^[A-Za-z0-9_-]{0,20}\s*\n/, "").trim());
    if (value !== undefined) found.push(value);
  }
  return found;
}

/** Objects and lists that stand in a text, outermost only, in order. */
function findBalanced(text: string): readonly Json[] {
  const found: Json[] = [];
  let steps = 0;
  for (let start = nextOpening(text, 0); start !== -1 && steps < MAX_STEPS && found.length < MAX_CANDIDATES;) {
    const end = closingOf(text, start, MAX_STEPS - steps);
    steps += (end === -1 ? text.length : end) - start;
    const value = end === -1 ? undefined : parseJson(text.slice(start, end));
    if (value !== undefined) found.push(value);
    start = nextOpening(text, value === undefined ? start + 1 : end);
  }
  return found;
}

function nextOpening(text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === "{" || text[at] === "[") return at;
  return -1;
}

/** Index after the bracket that closes the one at `start`; -1 when none does within `maxSteps`. */
function closingOf(text: string, start: number, maxSteps: number): number {
  let depth = 0;
  let isString = false;
  for (let at = start; at < text.length && at - start < maxSteps; at++) {
    const char = text[at];
    if (isString) {
      if (char === "\\") at++;
      else if (char === '"') isString = false;
    } else if (char === '"') isString = true;
    else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) return at + 1;
  }
  return -1;
}

function toComparable(value: Json): string {
  try {
    return JSON.stringify(value);
  } catch {
    // Nested too deeply to be written: equal to nothing.
    return crypto.randomUUID();
  }
}

const parseJson = (text: string): Json | undefined => parseAnyJson(text) as Json | undefined;
