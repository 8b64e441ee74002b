import assert from "node:assert/strict";
import test from "node:test";
import { loadNotes, parseNotes } from "../src/notes.js";

test("every note has a title, a text, and says where it comes from", () => {
  const notes = loadNotes();
  assert.notEqual(notes.length, 0);
  for (const note of notes) {
    assert.notEqual(note.title, "");
    assert.notEqual(note.paragraphs.length, 0, `the note "${note.title}" has no text`);
    assert.ok(note.source, `the note "${note.title}" in content/notes.md has no line "Source: ..."`);
  }
});

test("a note is its title, its source and its paragraphs", () => {
  assert.deepEqual(parseNotes("# N\n\n## A note\n\nSource: me\n\n> said\n\nmore\n"), [
    { title: "A note", source: "me", paragraphs: ["> said", "more"] },
  ]);
});

test("a quotation never becomes a title or a source", () => {
  const [note] = parseNotes("## A note\n\n> ## not a title\n\n> Source: not a source\n");
  assert.equal(note.title, "A note");
  assert.equal(note.source, null);
});
