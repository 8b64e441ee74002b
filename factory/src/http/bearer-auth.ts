import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { FactoryError } from "../lib/errors.ts";

/** Lets a request through that carries the API token as a bearer; compared in constant time. @throws unauthorized */
export function bearerAuth(token: string): MiddlewareHandler {
  const wanted = digest(token);
  return async (c, next) => {
    const given = /^Bearer (.+)$/.exec(c.req.header("authorization") ?? "")?.[1];
    if (given === undefined || !timingSafeEqual(digest(given), wanted)) {
      throw new FactoryError("unauthorized", "no or wrong API token: it stands in <data>/server.json (HARNAIS_TOKEN)");
    }
    await next();
  };
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
