import type { Json } from "@harnais/contracts/json.ts";

/** Replaces `${name}` in a text by the captured group of that name; other names stay as they stand. */
export function substituteText(text: string, groups: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name: string) =>
    Object.hasOwn(groups, name) ? (groups[name] ?? "") : whole,
  );
}

/** The same in every string of a value, after parsing: quotes and backslashes of a captured text cannot break the JSON. */
export function substituteJson(value: Json, groups: Readonly<Record<string, string>>): Json {
  if (typeof value === "string") return substituteText(value, groups);
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return value.map((item) => substituteJson(item, groups));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substituteJson(item, groups)]));
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
