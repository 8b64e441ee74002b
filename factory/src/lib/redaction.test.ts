import { randomBytes } from "node:crypto";
import { REDACTION_PATTERNS } from "@harnais/contracts/redaction-patterns.ts";
import { lintSource } from "@secretlint/core";
import { creator } from "@secretlint/secretlint-rule-preset-recommend";
import { describe, expect, test } from "vitest";
import { createRedactor } from "./redaction.ts";

const { redact, redactJson } = createRedactor({ knownSecrets: [] });

// Made at run time: the repository holds no text that looks like a secret.
const letters = (count: number, alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"): string =>
  Array.from(randomBytes(count), (byte) => alphabet[byte % alphabet.length]).join("");
const hex = (count: number): string => letters(count, "0123456789abcdef");
const upper = (count: number): string => letters(count, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
const alpha = (count: number): string => letters(count, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
const pem = (lines: number, lineEnd = "\n"): string =>
  [
    `-----BEGIN RSA ${"PRIVATE"} KEY-----`,
    `MIIE${letters(60)}`,
    ...Array.from({ length: lines }, () => letters(64)),
    `${letters(20)}==`,
    `-----END RSA ${"PRIVATE"} KEY-----`,
  ].join(lineEnd);

/** One sample of each kind that the preset finds: [rule, text, the part that must be gone]. */
function presetSamples(): [rule: string, text: string, secret: string][] {
  const plain = (rule: string, secret: string): [string, string, string] => [rule, `value ${secret} end`, secret];
  const awsSecret = letters(40);
  const database = letters(14);
  const login = `q${letters(12)}7`;
  const body = pem(12);
  const onePassword = {
    email: "a@1passwordserviceaccounts.com",
    muk: { alg: "A256GCM", k: letters(43), kty: "oct", kid: "mp" },
    secretKey: `A3-${upper(30)}`,
    srpX: hex(64),
    signInAddress: "acme.1password.com",
    userAuth: { method: "SRPg-4096", alg: "PBES2g-HS256", iterations: 100_000, salt: letters(22) },
    throttleSecret: { seed: hex(64), uuid: upper(26) },
    deviceUuid: upper(26),
  };
  const json = JSON.stringify(onePassword);
  // Its end is `}` alone in the last group of base64, as in a real one.
  const account = Buffer.from(`{${" ".repeat((3 - ((json.length - 1) % 3)) % 3)}${json.slice(1)}`).toString("base64");
  const oauth = letters(40, "0123456789abcdef");
  return [
    plain("1password", `ops_${account}`),
    plain("anthropic", `sk-ant-api03-${letters(93)}AA`),
    plain("aws", `AKIA${upper(16)}`),
    ["aws", `AWS_SECRET_ACCESS_KEY = "${awsSecret}"`, awsSecret],
    ["basicauth", `https://builder:${login}@registry.acme-corp.io/x`, login],
    plain("cloudflare", `cfut_${letters(40)}${hex(8)}`),
    ["database-connection-string", `postgres://app:${database}@db.acme-corp.io:5432/main`, database],
    plain("databricks", `dapi${hex(32)}`),
    plain("docker", `dckr_pat_${letters(27)}`),
    plain("figma", `figd_${letters(43)}`),
    plain("github", `ghp_${letters(36)}`),
    plain("github", `github_pat_${letters(82)}`),
    plain("github", `ghs_12345_${letters(30)}.${letters(60)}.${letters(43)}`),
    ["basicauth", `https://${oauth}:x-oauth-basic@github.com/acme/site`, oauth],
    plain("gitlab", `glpat-${letters(20)}`),
    plain("grafana", `glc_${letters(64)}`),
    plain("grafana", `glsa_${letters(32)}_${hex(8)}`),
    plain("groq", `gsk_${letters(52)}`),
    plain("hashicorp-vault", `hvs.${letters(95)}`),
    plain("huggingface", `hf_${alpha(34)}`),
    plain("linear", `lin_api_${letters(40)}`),
    plain("notion", `ntn_${letters(11, "0123456789")}${letters(35)}`),
    plain("npm", `npm_${letters(36)}`),
    plain("openai", `sk-${letters(20)}T3Blbk${"FJ"}${letters(20)}`),
    plain("openai", `sk-proj-${letters(74)}T3Blbk${"FJ"}${letters(74)}`),
    ["privatekey", body, body],
    plain("sendgrid", `SG.${letters(22)}.${letters(43)}`),
    plain("shopify", `shpat_${hex(32)}`),
    plain("slack", `xoxb-${letters(12, "123456789")}-${letters(12, "123456789")}-${letters(24)}`),
    ["slack", `https://hooks.slack.com/services/T${upper(8)}/B${upper(8)}/${letters(24)}`, "/T"],
    plain("stripe", `sk_live_${letters(32)}`),
    plain("tailscale", `tskey-auth-${letters(16)}-${letters(32)}`),
    plain("vercel", `vcp_${letters(40)}`),
  ];
}

/** What the factory must find beside the preset: [kind, text, the part that must be gone]. */
function furtherSamples(): [kind: string, text: string, secret: string][] {
  const value = letters(24);
  const key = `-----BEGIN ${"PRIVATE"} KEY-----`;
  return [
    ["jwt", `cookie=eyJ${letters(20)}.eyJ${letters(40)}.${letters(43)}`, "eyJ"],
    ["openrouter-key", `sk-or-v1-${hex(64)}`, "sk-or"],
    ["google-key", `AIza${letters(35)}`, "AIza"],
    ["bearer", `Authorization: Bearer ${value}9`, value],
    ["basic-auth", `authorization: Basic ${Buffer.from(`me:${value}`).toString("base64")}`, Buffer.from(`me:${value}`).toString("base64")],
    ["password", `password=${value}`, value],
    ["password", `{"password":"${value}"}`, value],
    ["password", JSON.stringify({ args: JSON.stringify({ db_password: value }) }), value],
    ["password", `POST /login?user=a&api_key=${value}&x=1`, value],
    ["password", `client_secret: ${value}1`, value],
    ["password", `const apiKey = '${value}'`, value],
    ["url-password", `redis://:${value}@localhost:6379`, value],
    ["private-key", `${key}\nMC4CAQAwBQYDK2VwBCIEI${letters(43)}\n-----END ${"PRIVATE"} KEY-----`, "MC4CAQAw"],
    ["private-key", `cut off ${key}\\n${value.repeat(3)}\\n${value}`, value],
    ["private-key", JSON.stringify({ key: pem(3) }), "MIIE"],
  ];
}

describe("what the preset of secretlint finds", () => {
  test.each(presetSamples())("%s: it is found by the preset and redacted here", async (rule, text, secret) => {
    const { messages } = await lintSource({
      source: { filePath: "/sample.txt", content: text, contentType: "text", ext: ".txt" },
      options: {
        noPhysicFilePath: true,
        config: {
          rules: [{ id: "preset", rule: creator, rules: [{ id: "@secretlint/secretlint-rule-aws", options: { enableIDScanRule: true } }] }],
        },
      },
    });
    expect(messages.map((message) => message.ruleId ?? "")).toContainEqual(expect.stringContaining(rule));
    expect(redact(text)).not.toContain(secret);
    expect(redact(JSON.stringify({ line: `\n${text}` }))).not.toContain(secret);
    expect(redact(text)).toMatch(/\[redacted:[a-z0-9-]+\]/);
  });
});

test.each(furtherSamples())("%s is redacted by its shape", (kind, text, secret) => {
  expect(redact(text)).toContain(`[redacted:${kind}]`);
  expect(redact(text)).not.toContain(secret);
});

test("what stands around a secret stays", () => {
  const value = letters(20);
  expect(redact(`{"user":"ada","password":"${value}","role":"x"}`)).toBe('{"user":"ada","password":"[redacted:password]","role":"x"}');
  expect(redact(`git clone https://ada:${value}@example.com/a.git now`)).toBe(
    "git clone https://ada:[redacted:url-password]@example.com/a.git now",
  );
});

test.each([
  "the password field must be filled, and the secret of it is patience",
  "password: must have at least eight characters; Password: required",
  "const password = getPassword(request); let token: string; apiKey = config.apiKey;",
  'password=$PASSWORD psql; <input type="password" name="pwd">; PASSWORD=${DB_PASSWORD}',
  "bearer authentication-and-authorization, basic understanding, a bearer of good news",
  "see https://example.com:8080/a@b and mailto:ada@example.com or git@github.com:acme/site.git",
  "the class sk-loading-indicator-container and the task-force-of-many-people",
  "-----BEGIN CERTIFICATE----- MIIB -----END CERTIFICATE-----",
  "commit 3f786850e387550fdab836ed7e6dc881de23001b of 2026-11-29T14:43:27.672Z",
  '{"type":"message_end","usage":{"input":1200,"totalTokens":1250},"responseId":"chatcmpl-70"}',
  "C:\\new\\table and 3f2a9c7e-1d1f-4b56-9a9e-0d2a4e7b8c11",
])("plain text is left alone: %s", (text) => {
  expect(redact(text)).toBe(text);
});

test("a known value is found raw, in base64, in a URL and in JSON", () => {
  // Its base64 holds + and / and ends in =.
  const secret = `p@ss "w/ord" é\t~~>>??ÿþ${letters(11)}`;
  const known = createRedactor({ knownSecrets: [secret] });
  const spellings = [
    secret,
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("base64").replace(/=+$/, ""),
    Buffer.from(secret).toString("base64url"),
    encodeURIComponent(secret),
    JSON.stringify(secret),
    JSON.stringify(JSON.stringify(secret)),
  ];
  for (const spelling of spellings) {
    const redacted = known.redact(`before ${spelling} after`);
    expect(redacted).toContain("[redacted:secret]");
    expect(redacted).not.toContain(spelling.replaceAll('"', ""));
    expect(redacted).toMatch(/^before .* after$/);
  }
});

test("of two known values the longer goes first, and the lines of a known key are known", () => {
  const short = letters(8);
  const key = pem(4);
  const known = createRedactor({ knownSecrets: [short, `${short}-and-more`, key] });
  expect(known.redact(`x ${short}-and-more y`)).toBe("x [redacted:secret] y");
  expect(known.redact(key.split("\n")[2] ?? "")).toBe("[redacted:secret]");
});

test("redacting twice changes nothing, whatever the pieces are", () => {
  const known = createRedactor({ knownSecrets: ["redacted", "password", `k${letters(9)}`] });
  const pieces = [...presetSamples(), ...furtherSamples()]
    .map(([, text]) => text)
    .concat("[redacted:", "password=", "bearer ", ":", "@", '"', "\\n", "https://a:");
  for (let round = 0; round < 300; round++) {
    const text = Array.from(randomBytes(6), (byte) => pieces[byte % pieces.length]).join(["", " ", '"'][round % 3]);
    const once = known.redact(text);
    expect(known.redact(once)).toBe(once);
  }
});

test("hostile text ends: a long line of beginnings, and no text at all", () => {
  expect(redact("")).toBe("");
  for (const piece of ["sk-", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaaa.", "password=", "https://a:", "[redacted:", "\u0000", "\ud800"])
    expect(redact(piece.repeat(50_000)).length).toBeGreaterThan(0);
});

test("a JSON value is redacted in its strings and keys, and stays what it is", () => {
  const value = `npm_${letters(36)}`;
  expect(redactJson({ a: [value, 1, null, true], [value]: { b: "plain" } })).toEqual({
    a: ["[redacted:npm-token]", 1, null, true],
    "[redacted:npm-token]": { b: "plain" },
  });
});

test("every pattern carries the g flag alone or with i", () => {
  for (const { pattern } of REDACTION_PATTERNS) expect(pattern.flags).toMatch(/^gi?$/);
});
