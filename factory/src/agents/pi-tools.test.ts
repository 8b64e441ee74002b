import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toPiTools } from "./pi-tools.ts";

let bin: string;
beforeAll(() => {
  bin = mkdtempSync(join(tmpdir(), "harnais-bin-"));
  writeFileSync(join(bin, "rg"), "#!/bin/sh\n");
  chmodSync(join(bin, "rg"), 0o755);
  writeFileSync(join(bin, "fd"), "not executable");
});
afterAll(() => rmSync(bin, { recursive: true, force: true }));

test("a tool whose program is missing, or cannot be started, is not offered", () => {
  expect(toPiTools({ mode: "explore" }, bin)).toEqual(["read", "grep", "ls"]);
  expect(toPiTools({ mode: "code" }, "")).toEqual(["read", "bash", "edit", "write", "ls"]);
});

test("explore can only be narrowed: neither allow nor deny gives it a tool that writes", () => {
  expect(toPiTools({ mode: "explore", tools: { allow: ["read", "bash", "write"] } }, bin)).toEqual(["read"]);
  expect(toPiTools({ mode: "code", tools: { deny: ["bash"] } }, bin)).toEqual(["read", "edit", "write", "grep", "ls"]);
});
