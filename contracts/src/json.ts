/** Any value that survives `JSON.parse(JSON.stringify(value))`. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** An object of foreign JSON: nothing is known of its values. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; undefined when it is none (no JSON text stands for undefined). Never throws. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object that a JSON text stands for; undefined when it is something else or none. Never throws. */
export function parseRecord(text: string): JsonRecord | undefined {
  const value = parseJson(text);
  return isRecord(value) ? value : undefined;
}
