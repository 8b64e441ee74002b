import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { ProxyClaims, ProxyTokens } from "./proxy-port.ts";

const PREFIX = "hpt_";
// Claims and a SHA-256 in base64url.
const SHAPE = /^hpt_([\w-]+)\.([\w-]{43})$/;
const KEY_BYTES = 32;

export type TokenCheck = { readonly type: "valid"; readonly claims: ProxyClaims } | { readonly type: "refused"; readonly reason: string };

export interface CheckedTokens extends ProxyTokens {
  /** Never throws. */
  check(token: string | undefined): TokenCheck;
}

interface SignedClaims {
  /** Order of minting in this process: revocation ends those before it, a later token of the run is good. */
  readonly serial: number;
  readonly claims: ProxyClaims;
}

/** Tokens of this process: its key is random and never leaves it, so a restart ends them all. `now` is epoch milliseconds. */
export function createProxyTokens(now: () => number = Date.now): CheckedTokens {
  const key = randomBytes(KEY_BYTES);
  const revoked = new Map<string, { readonly upToSerial: number; readonly untilMs: number }>();
  const lastExpiryMs = new Map<string, number>();
  let serial = 0;
  const sign = (text: string): Buffer => createHmac("sha256", key).update(text).digest();

  function forgetExpired(): void {
    for (const [runId, { untilMs }] of revoked) if (untilMs <= now()) revoked.delete(runId);
    for (const [runId, untilMs] of lastExpiryMs) if (untilMs <= now()) lastExpiryMs.delete(runId);
  }

  return {
    mint(claims) {
      forgetExpired();
      const signed: SignedClaims = { serial: ++serial, claims };
      const text = Buffer.from(JSON.stringify(signed)).toString("base64url");
      lastExpiryMs.set(claims.runId, Math.max(lastExpiryMs.get(claims.runId) ?? 0, claims.expiresAtMs));
      return `${PREFIX}${text}.${sign(text).toString("base64url")}`;
    },
    revokeRun(runId) {
      revoked.set(runId, { upToSerial: serial, untilMs: lastExpiryMs.get(runId) ?? 0 });
    },
    check(token) {
      if (token === undefined || token === "") return refuse("no token: send it as `authorization: Bearer …` or `x-api-key`");
      const [, text, signature] = SHAPE.exec(token) ?? [];
      if (text === undefined || signature === undefined) return refuse("this is not a token of this factory");
      const given = Buffer.from(signature, "base64url");
      const expected = sign(text);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return refuse("this is not a token of this factory");
      const signed = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as SignedClaims;
      if (signed.claims.expiresAtMs <= now()) return refuse("the token has expired");
      const revocation = revoked.get(signed.claims.runId);
      if (revocation !== undefined && signed.serial <= revocation.upToSerial) return refuse("the token's run has ended");
      return { type: "valid", claims: signed.claims };
    },
  };
}

function refuse(reason: string): TokenCheck {
  return { type: "refused", reason };
}
