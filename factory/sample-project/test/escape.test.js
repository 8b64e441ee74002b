import assert from "node:assert/strict";
import test from "node:test";
import { escapeHtml } from "../src/escape.js";

test("every character with a meaning in HTML is escaped", () => {
  assert.equal(escapeHtml(`<a href="x">l'été & moi</a>`), "&lt;a href=&quot;x&quot;&gt;l&#39;été &amp; moi&lt;/a&gt;");
});

test("dollar signs and backslashes stay as they are", () => {
  assert.equal(escapeHtml("$& $1 \\n"), "$&amp; $1 \\n");
});
