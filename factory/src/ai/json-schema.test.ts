import type { Json } from "@harnais/contracts/json.ts";
import { expect, test } from "vitest";
import { compileSchema } from "./json-schema.ts";

function check(schema: Json, value: Json): string | undefined {
  const compiled = compileSchema(schema);
  return "error" in compiled ? compiled.error : compiled.check(value);
}

const OBJECT = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };

test("a fault names the place", () => {
  expect(check(OBJECT, { a: "x" })).toBeUndefined();
  expect(check(OBJECT, {})).toBe("the value must have required property 'a'");
  expect(check(OBJECT, { a: 1 })).toBe("/a must be string");
  expect(check(OBJECT, { a: "x", b: 1 })).toContain("(b)");
  expect(check(OBJECT, JSON.parse('{"a":"x","__proto__":{}}') as Json)).toContain("(__proto__)");
});

test("drafts 2020-12 and 7 are told apart by $schema", () => {
  const tuple = { items: [{ type: "string" }], additionalItems: false };
  expect(check({ $schema: "http://json-schema.org/draft-07/schema#", ...tuple }, [1])).toBe("/0 must be string");
  expect(check({ prefixItems: [{ type: "string" }], items: false }, [1])).toBe("/0 must be string");
  expect(
    check({ $schema: "https://json-schema.org/draft/2020-12/schema", $defs: { n: { type: "number" } }, $ref: "#/$defs/n" }, "x"),
  ).toContain("must be number");
});

test("a foreign keyword or format is no error; a schema that is wrong is one", () => {
  expect(check({ type: "string", format: "uuid", "x-order": 1, nullable: true }, "no uuid")).toBeUndefined();
  expect(check({ type: "nonsense" }, 1)).toContain("the JSON Schema is not valid");
  expect(check({ $ref: "https://example.com/other.json" }, 1)).toContain("the JSON Schema is not valid");
  for (const wrong of [null, 1, "x", []]) expect(check(wrong, 1)).toContain("neither an object nor a boolean");
  expect(check(true, 1)).toBeUndefined();
  expect(check(false, 1)).toBeDefined();
});

test("the same $id may come twice", () => {
  const schema = { $id: "https://example.com/same.json", type: "string" };
  expect(check(schema, "x")).toBeUndefined();
  expect(check({ ...schema, type: "number" }, 1)).toBeUndefined();
});

test("a value nested beyond reason is a fault, not an exception", () => {
  const schema = { $ref: "#/$defs/n", $defs: { n: { type: "array", items: { $ref: "#/$defs/n" } } } };
  const deep = JSON.parse(`${"[".repeat(200_000)}${"]".repeat(200_000)}`) as Json;
  expect(check(schema, deep)).toContain("it cannot be checked");
});
