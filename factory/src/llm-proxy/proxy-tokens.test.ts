import { expect, test } from "vitest";
import type { ProxyClaims } from "./proxy-port.ts";
import { createProxyTokens } from "./proxy-tokens.ts";

const CLAIMS: ProxyClaims = {
  ...{ runId: "a1b2c3d4", phaseId: "a1b2c3d4-01", attempt: 1, sessionId: null, jobId: "a1b2c3d4-f", labels: ["agent"], agent: null },
  ...{ provider: "wire", model: "m", expiresAtMs: 1000 },
};

test("a token carries its claims until it expires", () => {
  let now = 0;
  const tokens = createProxyTokens(() => now);
  const token = tokens.mint(CLAIMS);
  expect(tokens.check(token)).toEqual({ type: "valid", claims: CLAIMS });
  now = 999;
  expect(tokens.check(token).type).toBe("valid");
  now = 1000;
  expect(tokens.check(token)).toEqual({ type: "refused", reason: "the token has expired" });
});

test("any changed character is refused", () => {
  const tokens = createProxyTokens(() => 0);
  const token = tokens.mint(CLAIMS);
  // The last character of base64url may hold spare bits only.
  const changed = Array.from(token.slice(0, -1), (char, at) => `${token.slice(0, at)}${char === "-" ? "_" : "-"}${token.slice(at + 1)}`);
  expect(changed.filter((forged) => tokens.check(forged).type !== "refused")).toEqual([]);
  const odd = [undefined, "", ".", "hpt_.", "hpt_..", `${token}.x`, `${token}x`, `${token}\n`, `x${token}`, `hpt_${"a".repeat(100_000)}`];
  expect(odd.filter((forged) => tokens.check(forged).type !== "refused")).toEqual([]);
});

test("revocation ends a run's tokens, not its later ones, and is forgotten when none can live", () => {
  let now = 0;
  const tokens = createProxyTokens(() => now);
  const [first, other] = [tokens.mint(CLAIMS), tokens.mint({ ...CLAIMS, runId: "bbbbbbbb" })];
  tokens.revokeRun(CLAIMS.runId);
  tokens.revokeRun("cccccccc");
  const later = tokens.mint(CLAIMS);
  expect([first, other, later].map((token) => tokens.check(token).type)).toEqual(["refused", "valid", "valid"]);
  now = 2000;
  tokens.mint({ ...CLAIMS, expiresAtMs: 3000 });
  expect(tokens.check(first)).toEqual({ type: "refused", reason: "the token has expired" });
});
