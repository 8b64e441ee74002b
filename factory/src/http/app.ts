import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Logger } from "pino";
import { FactoryError } from "../lib/errors.ts";
import { bearerAuth } from "./bearer-auth.ts";
import { toErrorResponse } from "./error-response.ts";
import { toOpenApi } from "./openapi.ts";

const MAX_BODY_BYTES = 1024 * 1024;

export interface AppParts {
  readonly token: string;
  readonly version: string;
  readonly log: Logger;
  /** Mounted under `/api`, behind the token. */
  readonly routes: readonly Hono[];
  /** What `/health` says of the parts. */
  health(): Promise<Record<string, unknown>>;
}

/** The factory's HTTP application; the LLM proxy stands before it (http/server.ts). */
export function createApp({ token, version, log, routes, health }: AppParts): Hono {
  const app = new Hono();
  app.onError((error, c) => toErrorResponse(error, c, log));
  app.notFound((c) => c.json({ error: { code: "not-found", message: `no such route: ${c.req.method} ${c.req.path}` } }, 404));
  app.get("/health", async (c) => c.json({ ok: true, version, ...(await health()) }));
  app.use("/api/*", bearerAuth(token));
  app.use(
    "/api/*",
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError() {
        throw new FactoryError("too-large", `the body is larger than ${MAX_BODY_BYTES} bytes`);
      },
    }),
  );
  app.get("/api/openapi.json", (c) => c.json(toOpenApi(version)));
  for (const route of routes) app.route("/api", route);
  return app;
}
