import { expect, test } from "vitest";
import { createRedactor } from "../redaction.ts";
import { createRedactionStream } from "./redact-stream.ts";

const SECRET = ["known", "value", "73"].join("-");
const redactor = createRedactor({ knownSecrets: [SECRET] });

function pass(text: string, size: number): string {
  const stream = createRedactionStream(redactor);
  let out = "";
  for (let at = 0; at < text.length; at += size) out += stream.write(text.slice(at, at + size));
  return out + stream.end();
}

test.each([1, 2, 7, 13, 64, 1000])("a secret on the edge of two pieces of %i characters is found", (size) => {
  const text = `first ${SECRET}\nsecond line\r\n${SECRET} and the rest`;
  expect(pass(text, size)).toBe(redactor.redact(text));
});

test.each([1, 5, 100])("a private key of many lines is one secret, in pieces of %i characters", (size) => {
  const key = [`-----BEGIN ${"PRIVATE"} KEY-----`, "a".repeat(64), "b".repeat(64), "c=", `-----END ${"PRIVATE"} KEY-----`].join("\n");
  expect(pass(`before\n${key}\nafter`, size)).toBe("before\n[redacted:private-key]\nafter");
});

test("a line without end is let through in pieces, its secrets too", () => {
  const text = `${"word ".repeat(300_000)}${SECRET} ${"word ".repeat(300_000)}`;
  const out = pass(text, 65_536);
  expect(out).toBe(redactor.redact(text));
});

test("a key that never ends does not hold the text for ever", () => {
  const stream = createRedactionStream(redactor);
  stream.write(`-----BEGIN ${"PRIVATE"} KEY-----\n`);
  let out = "";
  for (let line = 0; line < 3000; line++) out += stream.write("plain words\n");
  expect(out).toContain("plain words");
});
