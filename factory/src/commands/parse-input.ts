import type { ZodType } from "zod";
import { FactoryError } from "../lib/errors.ts";

/** A command's arguments as the API's body; absent ones are left out. @throws bad-input naming the argument */
export function parseInput<Output>(schema: ZodType<Output>, input: Readonly<Record<string, unknown>>): Output {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.join(".") ?? "";
  throw new FactoryError("bad-input", `${field === "" ? "" : `${field}: `}${issue?.message ?? "invalid"}`, field === "" ? {} : { field });
}
