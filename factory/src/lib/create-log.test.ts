import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { redactLine } from "./create-log.ts";
import { createRedactor } from "./redaction.ts";

const SECRET = 'hush "hush" secret';
const redactor = createRedactor({ knownSecrets: [SECRET] });

test("a line stays one JSON document whatever is redacted in it", () => {
  const line = {
    level: 50,
    err: { message: `refused: ${SECRET}`, stack: `at\n${SECRET}` },
    [SECRET]: 1,
    url: "postgres://me:passpass@h/d",
  };
  const redacted = redactLine(`${JSON.stringify(line)}\n`, redactor);
  expect(JSON.parse(redacted)).toEqual({
    level: 50,
    err: { message: "refused: [redacted:secret]", stack: "at\n[redacted:secret]" },
    "[redacted:secret]": 1,
    url: "postgres://me:[redacted:url-password]@h/d",
  });
  expect(redacted.endsWith("\n")).toBe(true);
});

test("what is no JSON is redacted as text", () => {
  expect(redactLine(`{"half": "${SECRET}\n`, redactor)).toBe('{"half": "[redacted:secret]\n');
});

test("the log writes no known secret, at any depth", () => {
  const module = (name: string): string => JSON.stringify(join(import.meta.dirname, name));
  const program = `
    import { createLog } from ${module("create-log.ts")};
    import { createRedactor } from ${module("redaction.ts")};
    const log = createLog({ logLevel: "info" }, createRedactor({ knownSecrets: ["sesame-open"] }));
    log.child({ runId: "a1b2c3d4" }).warn({ err: new Error("no sesame-open") }, "tried sesame-open");`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  expect(JSON.parse(stderr)).toMatchObject({ runId: "a1b2c3d4", msg: "tried [redacted:secret]" });
  expect(stderr).not.toContain("sesame-open");
});
