import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "harnais-folder-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a folder is made with those above it, and stays as it is when it is there", () => {
  makeFolder(join(root, "a", "b", "c"), 0o700);
  makeFolder(join(root, "a", "b", "c"), 0o755);
  expect(statSync(join(root, "a", "b", "c")).mode & 0o777).toBe(0o700);
});

test("what can never be made is an error, not an endless try", () => {
  writeFileSync(join(root, "file"), "");
  expect(() => makeFolder(join(root, "file", "x", "y"), 0o700)).toThrow(/ENOTDIR|EEXIST/);
});

test.runIf(process.platform === "linux")("a parent that can never exist is an error too", () => {
  expect(() => makeFolder("/proc/harnais/x/y", 0o700)).toThrow(/ENOENT/);
});
