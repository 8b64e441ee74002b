import assert from "node:assert/strict";
import { once } from "node:events";
import test from "node:test";
import { renderNotes } from "../src/pages.js";
import { createNotebook } from "../src/server.js";

async function withServer(use) {
  const server = createNotebook().listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections?.();
    server.close();
  }
}

test("the pages answer, each with the footer", () =>
  withServer(async (base) => {
    for (const path of ["/", "/notes"]) {
      const response = await fetch(base + path);
      assert.equal(response.status, 200);
      assert.match(await response.text(), /<footer>/);
    }
  }));

test("an unknown address is a 404 that shows it escaped", () =>
  withServer(async (base) => {
    const response = await fetch(`${base}/%3Cscript%3E`);
    assert.equal(response.status, 404);
    assert.doesNotMatch(await response.text(), /<script>/);
  }));

test("only reading is allowed", () =>
  withServer(async (base) => {
    assert.equal((await fetch(base, { method: "POST" })).status, 405);
  }));

test("a note is shown escaped", () => {
  const html = renderNotes([{ title: "<b>", source: "a&b", paragraphs: ["> <img>"] }]);
  assert.match(html, /<h2>&lt;b&gt;<\/h2><p class="source">a&amp;b<\/p><blockquote><p>&lt;img&gt;<\/p><\/blockquote>/);
});
