import type { Json } from "@harnais/contracts/json.ts";

// X10: at most so much of the bad text goes into the repair call.
const MAX_BAD_CHARS = 40_000;

/** Asks for the same answer in the shape of the schema. */
export const REPAIR_SYSTEM = [
  "You turn an answer into JSON that satisfies a JSON Schema.",
  "Reply with the JSON value alone, without prose and without a code fence.",
  "Keep what the answer says; add nothing that it does not say.",
].join(" ");

/** The repair call's message; of a long text its beginning and its end. */
export function toRepairPrompt(badText: string, schema: Json, fault: string): string {
  return `JSON Schema:\n${JSON.stringify(schema)}\n\nWhat is wrong with the answer: ${fault}\n\nThe answer:\n${shorten(badText)}`;
}

function shorten(text: string): string {
  if (text.length <= MAX_BAD_CHARS) return text;
  const half = MAX_BAD_CHARS / 2;
  return `${text.slice(0, half)}\n[… ${text.length - MAX_BAD_CHARS} characters left out …]\n${text.slice(-half)}`;
}
