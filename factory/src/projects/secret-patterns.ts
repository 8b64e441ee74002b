import { REDACTION_PATTERNS } from "@harnais/contracts/redaction-patterns.ts";
import { lintSource } from "@secretlint/core";
import { creator as recommendedRules } from "@secretlint/secretlint-rule-preset-recommend";

/** Something in a text that looks like a secret. */
export interface SecretMatch {
  /** e.g. `github-token`. */
  readonly kind: string;
  readonly value: string;
  readonly index: number;
}

export interface SecretScanner {
  /** Secrets in `text`, in order, overlapping ones merged. Bytes as latin1 characters will do: secrets are ASCII. */
  find(text: string, path: string): Promise<SecretMatch[]>;
}

const MIN_KNOWN_CHARS = 8;

/** F9: builds the scanner of what is about to be committed; `knownSecrets` are values the factory was given. */
export function createSecretScanner({ knownSecrets }: { readonly knownSecrets: readonly string[] }): SecretScanner {
  const known = knownSecrets.filter((secret) => secret.length >= MIN_KNOWN_CHARS).flatMap(toSpellings);
  return {
    async find(text, path) {
      const matches = [...findKnown(text, known), ...findByPattern(text), ...(await findByPreset(text, path))];
      return withoutOverlaps(matches);
    },
  };
}

// As bytes read as latin1, like the text; plain and in base64, as configuration files hold it.
const toSpellings = (secret: string): string[] => [Buffer.from(secret).toString("latin1"), Buffer.from(secret).toString("base64")];

function findKnown(text: string, known: readonly string[]): SecretMatch[] {
  return known.flatMap((value) => {
    const index = text.indexOf(value);
    return index === -1 ? [] : [{ kind: "secret of the factory", value, index }];
  });
}

function findByPattern(text: string): SecretMatch[] {
  return REDACTION_PATTERNS.flatMap(({ kind, pattern }) =>
    [...text.matchAll(pattern)].flatMap((match) => {
      const value = match[1] ?? match[0];
      const index = match.index + match[0].lastIndexOf(value);
      return isCredible({ kind, value, before: text[index - 1] ?? "" }) ? [{ kind, value, index }] : [];
    }),
  );
}

/** Not one per kind of key but by a word beside it: redaction may overdo these, a refused commit may not. */
const WORDY_KINDS = new Set(["password", "bearer", "url-password"]);
const PLACEHOLDER =
  /example|placeholder|change.?me|dummy|your[-_]|x{4}|\*{3}|\.{3}|[<>{}$()[\]]|^(?:password|passwd|postgres|secret|user|test|admin|root)\d{0,4}$/i;
const MIN_QUOTED_CHARS = 8;
const MIN_BARE_CHARS = 16;

function isCredible({ kind, value, before }: { kind: string; value: string; before: string }): boolean {
  if (!WORDY_KINDS.has(kind)) return true;
  if (PLACEHOLDER.test(value)) return false;
  if (kind === "url-password") return true;
  const isMixed = /\d/.test(value) && /[A-Za-z]/.test(value);
  if (/["'`]/.test(before)) return isMixed && value.length >= MIN_QUOTED_CHARS;
  // Without quotes it is more often a name than a value: `password = form.password2`.
  return isMixed && value.length >= MIN_BARE_CHARS && /^[\w+/=~-]+$/.test(value) && (value.match(/\d/g) ?? []).length >= 3;
}

const AWS_WITH_KEY_IDS = { id: "@secretlint/secretlint-rule-aws", options: { enableIDScanRule: true } };
const PRESET = "@secretlint/secretlint-rule-preset-recommend";
const URL_PASSWORD = /:\/\/[^\s/:@]*:([^\s/@]+)@/;

async function findByPreset(text: string, path: string): Promise<SecretMatch[]> {
  const result = await lintSource({
    source: { filePath: path, content: text, contentType: "text", ext: "" },
    options: {
      config: { rules: [{ id: PRESET, rule: recommendedRules, rules: [AWS_WITH_KEY_IDS] }] },
      noPhysicFilePath: true,
      maskSecrets: true,
    },
  });
  return result.messages.flatMap(({ range: [start, end], ruleId }) => {
    const value = text.slice(start, end);
    const password = URL_PASSWORD.exec(value)?.[1];
    if (password !== undefined && PLACEHOLDER.test(password)) return [];
    return [{ kind: ruleId.replace(/^.*secretlint-rule-/, ""), value, index: start }];
  });
}

/** The first of the list wins where two overlap: our own kinds are the more telling ones. */
function withoutOverlaps(matches: readonly SecretMatch[]): SecretMatch[] {
  const kept: SecretMatch[] = [];
  const ends = (match: SecretMatch): number => match.index + match.value.length;
  for (const match of matches) if (!kept.some((other) => match.index < ends(other) && other.index < ends(match))) kept.push(match);
  return kept.toSorted((a, b) => a.index - b.index);
}
