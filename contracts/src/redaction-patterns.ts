/** A kind of secret and how it looks. Expressions run in linear time and carry the `g` flag; group 1, where there is one, is the secret alone and ends the match. */
export interface RedactionPattern {
  readonly kind: string;
  readonly pattern: RegExp;
}

// A token begins where no letter or digit stands before it, or after an escape of JSON (`\n`, `\u001b`): lines are redacted as they are written.
const START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))`;
// Between a key and its value: `=`, `:`, `"key": "`, `\"key\":\"`.
const CONNECT = String.raw`(?:\\{0,3}["'])?\s{0,4}(?:[:=]|=>)\s{0,4}`;
const QUOTE = String.raw`\\{0,3}["']`;
// What is redacted already stays as it is.
const FRESH = String.raw`(?!\[redacted:)`;
// Prose has no digits in its words; a token nearly always has.
const WITH_DIGIT = String.raw`(?=[A-Za-z._~+/-]{0,60}\d)`;
const SCHEME = String.raw`(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/`;
// Also one that was a known value and is redacted by now.
const USER = String.raw`[^\s/:@"'[]{0,200}(?:\[redacted:[a-z0-9-]{1,40}\][^\s/:@"'[]{0,200})?`;
// Ends in the name of a secret: PASSWORD, db_password, apiKey, client-secret, accessToken.
const SECRET_NAME = String.raw`(?:passw(?:or)?d|pwd|passphrase|secret(?:[_-]?key)?|api[_-]?key|private[_-]?key|(?:access|auth|refresh|api|id)[_-]?token)`;

const token = (kind: string, body: string): RedactionPattern => ({ kind, pattern: new RegExp(START + body, "g") });

/** X9: what a secret looks like when its value is not known. Copied to the probes (`npm run check` compares). */
export const REDACTION_PATTERNS: readonly RedactionPattern[] = [
  {
    // Whole, or cut off: then as far as lines of base64 go. Real line ends or the `\n` of JSON.
    kind: "private-key",
    pattern:
      /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){0,20000}-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\{1,3}[nr]|["'+,]){0,20}[A-Za-z0-9+/=]{16,}){0,300})/g,
  },
  token("1password-token", String.raw`ops_ey[A-Za-z0-9+/=_-]{60,}`),
  token("jwt", String.raw`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`),
  token("anthropic-key", String.raw`sk-ant-[A-Za-z0-9_-]{16,}`),
  token("openrouter-key", String.raw`sk-or-[A-Za-z0-9_-]{16,}`),
  token("openai-key", String.raw`sk-(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{20,}`),
  token("github-token", String.raw`(?:gh[pousr]_[A-Za-z0-9._-]{20,}|github_pat_[A-Za-z0-9_]{22,})`),
  token("gitlab-token", String.raw`gl(?:pat|ptt|dt|rt|cbt|oas|ft|agent)-[A-Za-z0-9._-]{20,}`),
  token("npm-token", String.raw`npm_[A-Za-z0-9_]{36,}`),
  token("slack-token", String.raw`xox[abeoprs]-[A-Za-z0-9-]{10,}`),
  token("slack-token", String.raw`xapp-[A-Za-z0-9-]{10,}`),
  { kind: "slack-webhook", pattern: /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/([A-Za-z0-9/_-]{10,200})/gi },
  token("stripe-key", String.raw`(?:[rs]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}`),
  token("google-key", String.raw`AIza[A-Za-z0-9_-]{35,}`),
  token("google-token", String.raw`(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}`),
  token("aws-key-id", String.raw`(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])`),
  {
    kind: "aws-secret",
    pattern: new RegExp(String.raw`aws[_-]?(?:secret)?[_-]?(?:access)?[_-]?key${CONNECT}(?:${QUOTE})?([A-Za-z0-9/+=]{40})`, "gi"),
  },
  token("sendgrid-key", String.raw`SG\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}`),
  token("groq-key", String.raw`gsk_[A-Za-z0-9]{40,}`),
  token("huggingface-token", String.raw`hf_[A-Za-z0-9]{30,}`),
  token("linear-key", String.raw`lin_(?:api|oauth)_[A-Za-z0-9_]{30,}`),
  token("notion-token", String.raw`ntn_[A-Za-z0-9]{40,}`),
  token("shopify-token", String.raw`shp(?:pa|ca|at|ss)_[A-Za-z0-9]{32,}`),
  token("grafana-token", String.raw`(?:glc_[A-Za-z0-9+/]{32,}={0,2}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8,})`),
  token("vault-token", String.raw`hv[sbr]\.[A-Za-z0-9_-]{40,}`),
  token("vercel-token", String.raw`vc[piark]_[A-Za-z0-9]{20,}`),
  token("databricks-token", String.raw`dapi[A-Fa-f0-9]{32,}`),
  token("docker-token", String.raw`dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}`),
  token("figma-token", String.raw`figd_[A-Za-z0-9_-]{40,}`),
  token("cloudflare-token", String.raw`cf(?:k|ut|at)_[A-Za-z0-9]{40,}`),
  token("tailscale-key", String.raw`tskey-[a-z]{2,20}-[A-Za-z0-9_-]{16,}`),
  { kind: "bearer", pattern: new RegExp(String.raw`\bbearer\s{1,4}${WITH_DIGIT}([A-Za-z0-9._~+/-]{16,}=*)`, "gi") },
  { kind: "basic-auth", pattern: new RegExp(String.raw`authorization${CONNECT}(?:${QUOTE})?basic\s{1,4}([A-Za-z0-9+/]{8,}=*)`, "gi") },
  { kind: "url-password", pattern: new RegExp(String.raw`${SCHEME}${FRESH}([^\s/:@"']{8,200})(?=:x-oauth-basic@)`, "gi") },
  {
    kind: "url-password",
    pattern: new RegExp(String.raw`${SCHEME}${USER}:${FRESH}([^\s/@"']{1,200})(?=@)`, "gi"),
  },
  // "password": "…", password = '…', also in escaped JSON.
  { kind: "password", pattern: new RegExp(String.raw`${SECRET_NAME}${CONNECT}${QUOTE}${FRESH}([^\s"'\\]{4,200})(?=\\{0,3}["'])`, "gi") },
  // PASSWORD=…, ?api_key=…: no space, not an expression of a program or a shell.
  { kind: "password", pattern: new RegExp(String.raw`${SECRET_NAME}=${FRESH}(?![$%(<{])([^\s"'\`,;&(){}<>\\]{4,200})(?![(])`, "gi") },
  // password: hunter2 — in prose and code only what a word is not: with a digit and no call.
  {
    kind: "password",
    pattern: new RegExp(
      String.raw`${SECRET_NAME}\s{0,4}[:=]\s{1,4}${FRESH}(?=[^\s"'\`,;&(){}<>\\\d]{0,200}\d)([^\s"'\`,;&(){}<>\\]{4,200})(?![(])`,
      "gi",
    ),
  },
];
