import { REDACTION_PATTERNS, type RedactionPattern } from "@harnais/contracts/redaction-patterns.ts";
import type { Json } from "@harnais/contracts/json.ts";

export interface Redactor {
  /** Replaces every secret by `[redacted:kind]`. Idempotent, linear in the text's length, never throws. */
  redact(text: string): string;
  /** The same value with every string in it redacted, keys too. */
  redactJson(value: Json): Json;
}

export interface RedactorOptions {
  /** Values that were given to the factory as secrets; those shorter than `MIN_KNOWN_CHARS` are not looked for. */
  readonly knownSecrets: readonly string[];
}

/** A shorter known value is met by chance in any text. */
export const MIN_KNOWN_CHARS = 6;
const MIN_KNOWN_LINE_CHARS = 20;
const KNOWN_KIND = "secret";

/** X9: builds the redactor that traces, logs, mails and prompts' heads go through. */
export function createRedactor({ knownSecrets }: RedactorOptions): Redactor {
  const known = toKnownPattern(knownSecrets);
  const redact = (text: string): string => {
    const withoutKnown = known === undefined ? text : text.replace(known, keepMarker);
    return REDACTION_PATTERNS.reduce(redactPattern, withoutKnown);
  };
  return { redact, redactJson: (value) => redactValue(value, redact) };
}

function redactPattern(text: string, { kind, pattern }: RedactionPattern): string {
  const marker = `[redacted:${kind}]`;
  return text.replace(pattern, (match: string, secret: unknown) =>
    typeof secret === "string" ? match.slice(0, match.length - secret.length) + marker : marker,
  );
}

/** Every spelling of the known values in one expression, longest first; markers are matched first, to be left alone. */
function toKnownPattern(secrets: readonly string[]): RegExp | undefined {
  const spellings = [...new Set(secrets.filter((secret) => secret.length >= MIN_KNOWN_CHARS).flatMap(toSpellings))]
    .filter((spelling) => spelling.length >= MIN_KNOWN_CHARS)
    .toSorted((a, b) => b.length - a.length);
  if (spellings.length === 0) return undefined;
  return new RegExp(`\\[redacted:[a-z0-9-]{1,40}\\]|${spellings.map((spelling) => escapeExpression(spelling)).join("|")}`, "g");
}

const escapeExpression = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

const keepMarker = (match: string): string => (match.startsWith("[redacted:") ? match : `[redacted:${KNOWN_KIND}]`);

function toSpellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString("base64");
  const url = encodeURIComponent(secret.toWellFormed());
  const json = JSON.stringify(secret).slice(1, -1);
  // A key of several lines is met line by line in logs.
  const lines = secret.includes("\n") ? secret.split(/\r?\n/).filter((line) => line.length >= MIN_KNOWN_LINE_CHARS) : [];
  return [
    secret,
    secret.trim(),
    ...lines,
    json,
    JSON.stringify(json).slice(1, -1),
    url,
    url.replaceAll("%20", "+"),
    base64,
    base64.replace(/=+$/, ""),
    bytes.toString("base64url"),
  ];
}

function redactValue(value: Json, redact: (text: string) => string): Json {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return value.map((item) => redactValue(item, redact));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), redactValue(item, redact)]));
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
