import { zValidator } from "@hono/zod-validator";
import type { ZodType } from "zod";
import { FactoryError } from "../lib/errors.ts";

/** Validates a part of a request; a fault is a 400 that names the field. */
export function validate<Schema extends ZodType, Target extends "json" | "query" | "param">(target: Target, schema: Schema) {
  return zValidator(target, schema, (result) => {
    if (result.success) return;
    const issue = result.error.issues[0];
    const unknownKeys = issue?.code === "unrecognized_keys" ? issue.keys : undefined;
    const field = unknownKeys?.[0] ?? issue?.path.join(".") ?? "";
    const what = unknownKeys === undefined ? (issue?.message ?? "invalid") : "is not a field of this request";
    throw new FactoryError("bad-input", field === "" ? what : `${field}: ${what}`, field === "" ? {} : { field });
  });
}
