import { expect, test } from "vitest";
import { createUsageFilter } from "./usage-filter.ts";

function filter(text: string, pieceBytes: number): string {
  const usageFilter = createUsageFilter();
  const bytes = Buffer.from(text);
  const passed: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) passed.push(usageFilter.push(bytes.subarray(at, at + pieceBytes)));
  return Buffer.concat([...passed, usageFilter.flush()]).toString("utf8");
}

const USAGE = 'data: {"id":"é","choices":[],"usage":{"prompt_tokens":1}}';
const KEPT = [
  ': "usage"',
  'data: {"choices":[{"delta":{"content":"\\"usage\\" é🙂"}}],"usage":null}',
  'data: {"choices":[],"usage":null}',
  'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}',
  'data: {"choices":[],"usage"',
  "event: x\ndata: [DONE]",
];

test.each(["\n\n", "\r\n\r\n"])("only the usage chunk is taken out, however the bytes are cut (%j)", (end) => {
  const text = [...KEPT.slice(0, 3), USAGE, ...KEPT.slice(3)].map((event) => event + end).join("");
  const expected = KEPT.map((event) => event + end).join("");
  for (const pieceBytes of [1, 2, 3, 7, 64, text.length]) expect(filter(text, pieceBytes)).toBe(expected);
});

test("a usage chunk at the end without its empty line is taken out too, a torn other one is passed on", () => {
  expect(filter(USAGE, 5)).toBe("");
  expect(filter("data: {", 5)).toBe("data: {");
});

test("an event larger than what is held goes through as it comes", () => {
  const huge = `data: ${"x".repeat(1_000_000)}\n\n`;
  expect(filter(`${huge}${USAGE}\n\n`, 16_384)).toBe(huge);
});
