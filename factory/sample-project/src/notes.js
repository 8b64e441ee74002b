import { readFileSync } from "node:fs";

const NOTES_FILE = new URL("../content/notes.md", import.meta.url);

/** The notes of content/notes.md, in the order of the file. */
export function loadNotes() {
  return parseNotes(readFileSync(NOTES_FILE, "utf8"));
}

/**
 * Reads notes from text. A note starts at `## Title`; its `Source:` line says where it comes from (null when it is
 * missing), the rest is paragraphs, apart by empty lines; a line that starts with `> ` is a quotation.
 */
export function parseNotes(text) {
  const [, ...sections] = text.split(/^## /m);
  return sections.map((section) => {
    const [title, ...lines] = section.split("\n");
    const source = lines.find((line) => line.startsWith("Source: "));
    const body = lines.filter((line) => line !== source).join("\n");
    return {
      title: title.trim(),
      source: source === undefined ? null : source.slice("Source: ".length).trim(),
      paragraphs: body.split(/\n{2,}/).map((paragraph) => paragraph.trim()).filter((paragraph) => paragraph !== ""),
    };
  });
}
