import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { renderFooter } from "../src/footer.js";

test("the footer names the notebook", () => {
  assert.match(renderFooter(), /^<footer>.*Plume.*<\/footer>$/s);
});

test("no year is written by hand in the footer: it would be wrong next January", () => {
  const source = readFileSync(new URL("../src/footer.js", import.meta.url), "utf8");
  const years = source.match(/\b(?:19|20)\d{2}\b/g) ?? [];
  assert.deepEqual(years, [], `src/footer.js holds ${years.join(", ")}: compute the year when the page is rendered`);
});

test("a year in the footer is the current one", () => {
  for (const year of renderFooter().match(/\b\d{4}\b/g) ?? []) assert.equal(Number(year), new Date().getFullYear());
});
