import { zValidator } from "@hono/zod-validator";
import type { Context } from "hono";
import type { ZodType } from "zod";
import { FactoryError } from "../lib/errors.ts";

/** Validates a part of a request; a fault is a 400 that names the field. */
export function validate<Schema extends ZodType, Target extends "json" | "query" | "param">(target: Target, schema: Schema) {
  return zValidator(target, schema, async (result, c) => {
    // The validator reads a body of another type as {}.
    if (target === "json" && !isJson(c) && (!result.success || (await c.req.text()) !== "")) throw notJson(c);
    if (result.success) {
      refuseUnstorable(result.data, []);
      return;
    }
    const issue = result.error.issues[0];
    const unknownKeys = issue?.code === "unrecognized_keys" ? issue.keys : undefined;
    const field = unknownKeys?.[0] ?? issue?.path.join(".") ?? "";
    const what = unknownKeys === undefined ? (issue?.message ?? "invalid") : "is not a field of this request";
    throw new FactoryError("bad-input", field === "" ? what : `${field}: ${what}`, field === "" ? {} : { field });
  });
}

const isJson = (c: Context): boolean => /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(c.req.header("content-type") ?? "");

function notJson(c: Context): FactoryError {
  const given = c.req.header("content-type");
  const what = given === undefined ? "none was given" : `not ${given}`;
  return new FactoryError("bad-input", `content-type: the body must be JSON, sent as application/json (${what})`, {
    field: "content-type",
  });
}

/** PostgreSQL stores no NUL, and half of a surrogate pair is no character: jsonb refuses it, text would change it. */
function refuseUnstorable(value: unknown, path: readonly string[]): void {
  if (typeof value === "string") {
    if (!value.includes("\0") && value.isWellFormed()) return;
    const field = path.join(".");
    const what = value.includes("\0") ? "holds a NUL character" : "holds half of a surrogate pair (is it cut?)";
    throw new FactoryError("bad-input", `${field}: ${what}`, { field });
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value)) refuseUnstorable(item, [...path, key]);
}
