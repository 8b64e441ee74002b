import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REDACTING_PROBES, withRedactionCopy } from "./generate-redaction-copy.ts";

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
