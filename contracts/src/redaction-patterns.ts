/** A kind of secret and how it looks. Expressions run in linear time and carry the `g` flag; group 1, where there is one, is the secret alone. */
export interface RedactionPattern {
  readonly kind: string;
  readonly pattern: RegExp;
}

/** X9: what a secret looks like when its value is not known. Copied to the probes (`npm run check` compares). */
export const REDACTION_PATTERNS: readonly RedactionPattern[] = [
  {
    kind: "private-key",
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!----END))*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  },
  { kind: "jwt", pattern: /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g },
  { kind: "anthropic-key", pattern: /\bsk-ant-[A-Za-z0-9_-]{16,}/g },
  { kind: "openrouter-key", pattern: /\bsk-or-[A-Za-z0-9_-]{16,}/g },
  { kind: "openai-key", pattern: /\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}/g },
  { kind: "github-token", pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{22,})/g },
  { kind: "gitlab-token", pattern: /\bglpat-[A-Za-z0-9_-]{20,}/g },
  { kind: "npm-token", pattern: /\bnpm_[A-Za-z0-9]{36}/g },
  { kind: "slack-token", pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g },
  { kind: "stripe-key", pattern: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g },
  { kind: "google-key", pattern: /\bAIza[A-Za-z0-9_-]{35}/g },
  { kind: "aws-key-id", pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
  { kind: "aws-secret", pattern: /\baws_secret_access_key["']?\s{0,4}[:=]\s{0,4}["']?([A-Za-z0-9/+]{40})/gi },
  { kind: "bearer", pattern: /\bbearer\s{1,4}([A-Za-z0-9._~+/-]{16,}=*)/gi },
  { kind: "url-password", pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{0,200}:([^\s/@"']{1,200})@/gi },
  {
    kind: "password",
    pattern:
      /\b(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)["']?\s{0,4}[:=]\s{0,4}["']?([^\s"',;&}{<>]{4,200})/gi,
  },
];
