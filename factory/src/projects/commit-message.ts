const MAX_SUBJECT_CHARS = 72;
const MAX_BODY_CHARS = 20_000;

export interface MessageSource {
  /** The request's own words. */
  readonly request: string;
  /** Secrets taken out (lib/redaction.ts). */
  redact(text: string): string;
}

/**
 * A commit message from a request: a one-line subject, then the whole request quoted (`> `), so that nothing in it
 * can pass for a trailer, an option or a comment.
 */
export function toCommitMessage({ request, redact }: MessageSource): string {
  const clean = redact(request);
  return `${toSubject(clean)}\n\n${toQuote(clean)}\n`;
}

/** One line of at most 72 characters that git takes for what it is. */
export function toSubject(request: string): string {
  const line = request
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/^[\s#-]+/, "")
    .trim();
  if (line === "") return "Change without words";
  return line.length <= MAX_SUBJECT_CHARS ? line : `${cutWhole(line, MAX_SUBJECT_CHARS - 1).trimEnd()}…`;
}

/** At most `maxChars` of `text`, never half a character. */
function cutWhole(text: string, maxChars: number): string {
  const isPairCut = /[\uD800-\uDBFF]$/.test(text.slice(0, maxChars));
  return text.slice(0, isPairCut ? maxChars - 1 : maxChars);
}

function toQuote(request: string): string {
  const text = request.length <= MAX_BODY_CHARS ? request : `${request.slice(0, MAX_BODY_CHARS)}…`;
  return text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => `> ${line.replace(/[^\P{Cc}\t]/gu, "")}`.trimEnd())
    .join("\n");
}
