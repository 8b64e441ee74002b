import { describe, expect, test } from "vitest";
import { createLineSplitter, toCleanLine } from "./line-splitter.ts";

function split(chunks: readonly Buffer[], maxLineBytes?: number): string[] {
  const lines: string[] = [];
  const splitter = createLineSplitter((line) => lines.push(line), maxLineBytes);
  for (const chunk of chunks) splitter.push(chunk);
  splitter.flush();
  return lines;
}

describe("createLineSplitter", () => {
  const text = 'é😀\u2028\u2029\u0085\r\n\n{"a":"漢"}\nlast';
  const lines = ["é😀\u2028\u2029\u0085", "", '{"a":"漢"}', "last"];

  test("cuts at LF only, whatever the chunk borders", () => {
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));
      expect(split(chunks)).toEqual(lines);
    }
  });

  test("a line beyond the cap is cut, says so, and the next one is whole", () => {
    const chunks = ["aaaa", "bbbb", "cc\nnext\n", "dddddd"].map((part) => Buffer.from(part));
    expect(split(chunks, 5)).toEqual(["aaaab [line cut: 5 bytes dropped]", "next", "ddddd [line cut: 1 bytes dropped]"]);
  });

  test("bytes that are no UTF-8 become replacement characters", () => {
    expect(split([Buffer.of(0x61, 0xff, 0xfe, 0x0a, 0xf0, 0x9f)])).toEqual(["a\uFFFD\uFFFD", "\uFFFD"]);
  });
});

describe("toCleanLine", () => {
  test.each([
    ["\u001B[?25l\u001B[38;5;196mred\u001B[0m", "red"],
    ["\u001B]0;a title\u0007text", "text"],
    ["\u001B]8;;http://x\u001B\\link\u001B]8;;\u001B\\", "link"],
    ["\u001BPdevice\u001B\\text", "text"],
    ["\u001B7\u001B(B\u001B=text\u001B8", "text"],
    ["text\u001B", "text"],
    ["text\u001B[12", "text"],
    ["a\rb\r\r", "ab"],
    ['{"esc":"\\u001b[0m"}', '{"esc":"\\u001b[0m"}'],
  ])("%j becomes %j", (line, clean) => expect(toCleanLine(line)).toBe(clean));

  test("hostile sequences take linear time", () => {
    for (const unit of ["\u001B", "\u001B[", "\u001B]", "\u001B[0", "\u001B[ ", "[0;"]) {
      const line = `\u001B[${unit.repeat(1_000_000)}`;
      expect(toCleanLine(line).length).toBeLessThan(line.length); // quadratic would take hours: the test would not end
    }
  });
});
