import type { Json } from "@harnais/contracts/json.ts";
import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { messageOf } from "../lib/errors.ts";

const MAX_SHOWN = 3;
// Foreign schemas carry keywords and formats of other tools: they say nothing here, they are no error.
const OPTIONS: Options = { strict: false, validateFormats: false, allErrors: false, logger: false, addUsedSchema: false };

/** Why a value is not what the schema asks for, one line; undefined when it is. */
export type CheckValue = (value: Json) => string | undefined;

/** Compiles a JSON Schema of draft 2020-12 or, when its `$schema` says so, draft 7. Never throws: a wrong schema is its `error`. */
export function compileSchema(schema: Json): { readonly check: CheckValue } | { readonly error: string } {
  try {
    const validate = compile(schema);
    return { check: (value) => checkValue(validate, value) };
  } catch (error) {
    return { error: `the JSON Schema is not valid: ${messageOf(error)}` };
  }
}

function compile(schema: Json): ValidateFunction {
  if (typeof schema === "boolean") return new Ajv2020(OPTIONS).compile(schema);
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) throw new Error("it is neither an object nor a boolean");
  const draft = "$schema" in schema ? schema.$schema : undefined;
  return typeof draft === "string" && /draft-0[67]/.test(draft) ? new Ajv(OPTIONS).compile(schema) : new Ajv2020(OPTIONS).compile(schema);
}

function checkValue(validate: ValidateFunction, value: Json): string | undefined {
  try {
    if (validate(value) === true) return undefined;
  } catch (error) {
    return `it cannot be checked: ${messageOf(error)}`;
  }
  const errors = (validate.errors ?? []).slice(0, MAX_SHOWN).map(({ instancePath, message, params }) => {
    const extra = "additionalProperty" in params ? ` (${String(params["additionalProperty"])})` : "";
    return `${instancePath === "" ? "the value" : instancePath} ${message ?? "is invalid"}${extra}`;
  });
  return errors.join("; ");
}
