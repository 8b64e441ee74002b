import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Logger } from "pino";
import { type ErrorCode, FactoryError } from "../lib/errors.ts";

const STATUSES: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  unauthorized: 401,
  refused: 403,
  "untrusted-workflow": 403,
  "secret-found": 403,
  "not-found": 404,
  "unknown-workflow": 404,
  "unknown-model": 404,
  "unknown-provider": 404,
  conflict: 409,
  "workflow-changed": 409,
  "too-large": 413,
  "bad-input": 400,
  "empty-workflow": 422,
  "bad-workflow": 422,
  "bad-scenario": 422,
  "not-a-repository": 422,
  "bad-ref": 422,
  "part-missing": 424,
  "base-owned": 503,
  "database-unreachable": 503,
  "server-unreachable": 503,
  storage: 507,
};
const DEFAULT_STATUS = 422;

/** The one place where errors become answers: `{error: {code, message, field?}}`. A bug is logged and told apart, without its text. */
export function toErrorResponse(error: Error, c: Context, log: Logger): Response {
  if (error instanceof FactoryError) {
    const { code, message, field } = error;
    return c.json({ error: { code, message, ...(field === undefined ? {} : { field }) } }, STATUSES[code] ?? DEFAULT_STATUS);
  }
  if (error instanceof HTTPException) {
    const code: ErrorCode = error.status === 413 ? "too-large" : error.status === 401 ? "unauthorized" : "bad-input";
    return c.json({ error: { code, message: error.message || "the request could not be read" } }, error.status);
  }
  log.error({ err: error, path: c.req.path }, "bug in a route");
  return c.json({ error: { code: "bug", message: "an error of the factory: its log has the details" } }, 500);
}
