import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { REDACTING_PROBES, updateCopies, withRedactionCopy } from "./generate-redaction-copy.ts";

test.each(REDACTING_PROBES)("%s redacts with the patterns of contracts (else: node scripts/generate-redaction-copy.ts)", (file) => {
  const probe = readFileSync(join(import.meta.dirname, "..", file), "utf8");
  expect(probe).toBe(withRedactionCopy(probe));
});

test("a pattern that changes in contracts changes the copy", () => {
  const probe = readFileSync(join(import.meta.dirname, "..", "probes/pi/harnais-trace.ts"), "utf8");
  const changed = withRedactionCopy(probe, [{ kind: "slash", pattern: /a\/b"`/gi }]);
  expect(changed).not.toBe(probe);
  expect(changed).toContain('{ kind: "slash", pattern: /a\\/b"`/gi },');
});

test("a probe without markers is refused", () => {
  expect(() => withRedactionCopy("export {};\n")).toThrow("marker comments not found");
});

test("a check names the copies that differ and writes nothing", () => {
  const root = mkdtempSync(join(tmpdir(), "harnais-copies-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const file of REDACTING_PROBES) cpSync(join(import.meta.dirname, "..", file), join(root, file), { recursive: true });
  expect(updateCopies(root, { isCheck: true })).toEqual([]);
  const probe = join(root, REDACTING_PROBES[0] ?? "");
  const stale = withRedactionCopy(readFileSync(probe, "utf8"), [{ kind: "old", pattern: /old/g }]);
  writeFileSync(probe, stale);
  expect(updateCopies(root, { isCheck: true })).toEqual([REDACTING_PROBES[0]]);
  expect(readFileSync(probe, "utf8")).toBe(stale);
  updateCopies(root, { isCheck: false });
  expect(updateCopies(root, { isCheck: true })).toEqual([]);
});
