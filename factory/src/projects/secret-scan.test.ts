import { expect, test } from "vitest";
import { createSecretScanner } from "./secret-patterns.ts";
import { toWindows } from "./secret-scan.ts";

const scanner = createSecretScanner({ knownSecrets: [] });
const find = async (text: string) => (await scanner.find(text, "x.js")).map(({ kind }) => kind);

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test("windows overlap, and each knows its first line", async () => {
  const text = Array.from({ length: 700_000 }, (_, index) => `line ${index + 1}`).join("\n");
  for await (const { text: window, firstLine } of toWindows(chunksOf(Buffer.from(text), 65_537))) {
    const [partial = "", whole = ""] = window.split("\n", 2);
    expect(whole).toBe(`line ${firstLine + 1}`);
    expect(`line ${firstLine}`.endsWith(partial)).toBe(true);
  }
});

test("a secret on the border of two windows is seen whole", async () => {
  const token = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
  const before = 4 * 1024 * 1024 - 20;
  const bytes = Buffer.from(`${" ".repeat(before)}${token}${" ".repeat(before)}`);
  let seen = 0;
  for await (const { text } of toWindows(chunksOf(bytes, 64 * 1024))) seen += text.includes(token) ? 1 : 0;
  expect(seen).toBeGreaterThan(0);
});

test("no bytes are no window", async () => {
  for await (const window of toWindows(chunksOf(Buffer.alloc(0), 10))) expect.fail(JSON.stringify(window));
});

test.each([
  ["const password = request.body.password2;", []],
  ['password: "changeme"', []],
  ['password: "<your-password-1>"', []],
  ["PASSWORD=${PASSWORD_FROM_ENV_1234}", []],
  ["Authorization: Bearer ${token}", []],
  ["the bearer documentation-of-everything", []],
  ["postgres://user:password@localhost/db", []],
  [`PASSWORD=${"Zk9"}x83mQpL0vT7a42`, ["password"]],
  [`password: "${"hunter2"}-hunter3"`, ["password"]],
  [`mysql://app:${"q7Zr"}2mXk@db/app`, ["url-password"]],
  [`Bearer ${"abcDEF123456"}7890xyzQ`, ["bearer"]],
])("in %j it finds %j", async (text, kinds) => {
  expect(await find(text)).toEqual(kinds);
});
