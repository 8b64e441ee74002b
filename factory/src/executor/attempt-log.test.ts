import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createRedactor } from "../lib/redaction.ts";
import { openAttemptLog, sealLogFile } from "./attempt-log.ts";

const folder = mkdtempSync(join(tmpdir(), "harnais-log-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const SECRET = ["known", "value", "73"].join("-");
const redactor = createRedactor({ knownSecrets: [SECRET] });

test("lines are written redacted, for the user alone", () => {
  const file = join(folder, "deep", "a.log");
  const log = openAttemptLog(file, redactor, () => undefined);
  log.write(`{"x":"${SECRET}"}`);
  log.write("plain");
  log.close();
  expect(readFileSync(file, "utf8")).toBe('{"x":"[redacted:secret]"}\nplain\n');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a key of several lines is redacted as one; a key that is cut off too", () => {
  const file = join(folder, "key.log");
  const log = openAttemptLog(file, redactor, () => undefined);
  const body = Array.from({ length: 3 }, (_, n) => String(n).repeat(64));
  for (const line of ["before", "-----BEGIN RSA PRIVATE KEY-----", ...body, "-----END RSA PRIVATE KEY-----", "after"]) log.write(line);
  for (const line of ["-----BEGIN PRIVATE KEY-----", ...body]) log.write(line);
  log.close();
  expect(readFileSync(file, "utf8")).toBe("before\n[redacted:private-key]\nafter\n[redacted:private-key]\n");
});

test("a log that cannot be written costs the log: one warning, no throw", () => {
  const warnings: string[] = [];
  const log = openAttemptLog("/dev/full", redactor, (message) => warnings.push(message));
  log.write("one");
  log.write("two");
  log.close();
  expect(warnings).toEqual([expect.stringContaining("ENOSPC")]);
});

test("a file that a process wrote is redacted in place; its tail is returned; an empty one goes", async () => {
  const file = join(folder, "b.stderr.log");
  writeFileSync(file, `${"line of words\n".repeat(20_000)}the key is ${SECRET}\nlast words`);
  const tail = await sealLogFile(file, redactor);
  const text = readFileSync(file, "utf8");
  expect(text.endsWith("the key is [redacted:secret]\nlast words")).toBe(true);
  expect(text.length).toBeGreaterThan(280_000);
  expect(text.endsWith(tail)).toBe(true);
  expect(tail).toHaveLength(4096);
  writeFileSync(file, "");
  expect(await sealLogFile(file, redactor)).toBe("");
  expect(existsSync(file)).toBe(false);
});
