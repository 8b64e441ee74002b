import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTempFolder } from "./temp-folder.ts";

let root: string;
let cache: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "harnais-temp-")));
  cache = join(root, `harnais-cache-${process.getuid?.() ?? 0}`);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("two attempts share one cache of compiled code that only the user can read", async () => {
  for (const name of ["a", "b", "b"]) {
    const folder = join(root, "data", name);
    expect(await makeTempFolder(folder, root)).toEqual({ TMPDIR: folder, NODE_COMPILE_CACHE: join(cache, "node-compile-cache") });
    expect(realpathSync(join(folder, "jiti"))).toBe(join(cache, "jiti"));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  }
  expect([cache, join(cache, "jiti")].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
});

test.each([
  ["that others can write", () => (mkdirSync(cache), chmodSync(cache, 0o777))],
  ["that is a link", () => (mkdirSync(join(root, "elsewhere"), { mode: 0o700 }), symlinkSync(join(root, "elsewhere"), cache))],
  ["that is a file", () => writeFileSync(cache, "", { mode: 0o600 })],
])("a cache %s is not used: the attempt has its own", async (_what, plant) => {
  plant();
  const folder = join(root, "data", "a");
  expect(await makeTempFolder(folder, root)).toEqual({ TMPDIR: folder, NODE_COMPILE_CACHE: join(folder, "node-compile-cache") });
  expect(readdirSync(folder)).toEqual([]);
});

test("nor is one where no folder can be made", async () => {
  writeFileSync(join(root, "full"), "");
  const folder = join(root, "data", "a");
  expect(await makeTempFolder(folder, join(root, "full"))).toMatchObject({
    TMPDIR: folder,
    NODE_COMPILE_CACHE: join(folder, "node-compile-cache"),
  });
});
