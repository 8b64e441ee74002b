import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_CODES, toExitCode } from "./errors.ts";

test("docs/errors.md lists every code with its exit code, and no other", () => {
  const text = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const listed = [...text.matchAll(/^\| `([a-z-]+)` \| (\d) \|/gm)].map(([, code, exit]) => `${code} ${exit}`);
  expect(new Set(listed)).toEqual(new Set(ERROR_CODES.map((code) => `${code} ${toExitCode(code)}`)));
  expect(listed).toHaveLength(ERROR_CODES.length);
});
