import { expect, test } from "vitest";
import { extractJson, looksDoubled } from "./extract-json.ts";

test.each([
  ["plain", '{"a":1}', [{ a: 1 }]],
  ["with a byte order mark and spaces", '\uFEFF\n {"a":1} \n', [{ a: 1 }]],
  ["a bare value", "3", [3]],
  ["in prose", 'It is {"a":{"b":"}"}}, I think [sic].', [{ a: { b: "}" } }]],
  ["after an open brace", 'use { to begin: {"a":1}', [{ a: 1 }]],
  ["in a fence", 'x\n```json\n{"a":1}\n```', [{ a: 1 }, { a: 1 }]],
  ["a fenced number", "```\n7\n```", [7]],
  ["several, the last one last", '{"a":1} then {"a":2}', [{ a: 1 }, { a: 2 }]],
  ["with escapes", '= {"a":"\\"}{"}', [{ a: '"}{' }]],
  ["none", "no { json ] here", []],
  ["torn", '{"a":[1,2', []],
  ["nothing", "", []],
])("JSON is found: %s", (_, text, expected) => {
  expect(extractJson(text)).toEqual(expected);
});

test("hostile texts cost a bounded time and are no answer", () => {
  for (const text of ["{".repeat(1_000_000), "[{".repeat(500_000), '{"'.repeat(500_000), "```".repeat(300_000), "{}".repeat(500_000)])
    expect(extractJson(text).length).toBeLessThanOrEqual(100);
});

test.each([
  ['{"a":1}{"a":1}', true],
  ['{"a":1}\n\n{ "a": 1 }', true],
  ['Draft {"a":1}, final {"a":2}', false],
  ['{"a":[{"b":1},{"b":1}]}', false],
  ['[{"b":1},{"b":1}]', false],
  ["prose prose", false],
])("%s is doubled: %s", (text, expected) => {
  expect(looksDoubled(text)).toBe(expected);
});
