import { expect, test } from "vitest";
import { FactoryError } from "../../lib/errors.ts";
import { parseScenario } from "./parse-scenario.ts";

const GOOD = `name: good
rules:
  - when: { user: "a(?<b>.)", turn: 2 }
    then: { text: "\${b}", usage: { input: 1, cached: 2, output: 3 }, delayMs: 1, chunkMs: 2, fault: { noUsage: true } }
  - then: { tools: [{ name: read, args: { path: x } }] }
`;

function faultOf(text: string): string {
  try {
    parseScenario(text, "x.yaml");
  } catch (error) {
    if (error instanceof FactoryError && error.code === "bad-scenario") return error.message;
    throw error;
  }
  return "none";
}

test("a scenario is read with its defaults", () => {
  const scenario = parseScenario(GOOD, "x.yaml");
  expect(scenario).toMatchObject({ name: "good", file: "x.yaml", contextWindow: 200_000, price: { input: 3, output: 15, cacheRead: 0.3 } });
  expect(scenario.rules[0]?.when.user).toBeInstanceOf(RegExp);
  expect(scenario.rules[1]?.when).toEqual({});
  expect(parseScenario(GOOD.replace("name: good", "name: good\nprice: null"), "x.yaml").price).toBeNull();
});

test.each([
  ["an unknown field", GOOD.replace("turn:", "trun:"), /^x\.yaml:3: rules\.0\.when: .*trun/],
  ["a wrong type", GOOD.replace("turn: 2", "turn: two"), /^x\.yaml:3: rules\.0\.when\.turn: /],
  ["a wrong expression", GOOD.replace('"a(?<b>.)"', '"a("'), /^x\.yaml:3: rules\.0\.when\.user: .*regular expression/i],
  [
    "an answer without content",
    GOOD.replace("tools: [{ name: read, args: { path: x } }]", "delayMs: 1"),
    /^x\.yaml:5: rules\.1\.then: answers with/,
  ],
  ["json beside text", GOOD.replace("tools: [{ name: read, args: { path: x } }]", "json: 1, text: a"), /^x\.yaml:5: .*stands alone/],
  [
    "a price that leaves a class out",
    GOOD.replace("name: good", "name: good\nprice: { input: 3, output: 15 }"),
    /^x\.yaml:2: price\.cacheRead: /,
  ],
  ["an empty fault", GOOD.replace("{ noUsage: true }", "{}"), /^x\.yaml:4: rules\.0\.then\.fault: names one of/],
  ["no rules", "name: good\nrules: []\n", /^x\.yaml:2: rules: /],
  ["a missing name", "rules:\n  - then: { text: a }\n", /^x\.yaml:1: name: /],
  ["a doubled key", "name: a\nname: b\n", /^x\.yaml:\d: .*unique/i],
  ["torn YAML", 'name: "a\nrules: [', /^x\.yaml:\d+: /],
  ["a text", "hello", /^x\.yaml:1: /],
  ["nothing", "", /^x\.yaml:1: /],
  ["bytes", "\u0000\u0001", /^x\.yaml:\d+: /],
])("%s is named with its line and field", (_, text, expected) => {
  expect(faultOf(text)).toMatch(expected);
});

test("an alias bomb is refused", () => {
  const levels = Array.from(
    { length: 12 },
    (_, n) => `l${n}: &l${n} [${Array.from({ length: 9 }, () => (n === 0 ? "x" : `*l${n - 1}`)).join(", ")}]`,
  );
  expect(faultOf(levels.join("\n"))).toMatch(/alias/i);
});

test("a file of absurd size is refused", () => {
  expect(faultOf(`name: a\n# ${"x".repeat(5_000_000)}`)).toMatch(/larger than/);
});
