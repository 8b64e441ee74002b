import { escapeHtml } from "./escape.js";
import { renderFooter } from "./footer.js";

/** The home page: what Plume is, and its newest notes. */
export function renderHome(notes) {
  const newest = notes.slice(0, 3).map((note) => `<li>${escapeHtml(note.title)}</li>`);
  return renderLayout("Plume", `<h1>Plume</h1><p>Un petit carnet public.</p><ul>${newest.join("")}</ul>`);
}

/** All notes on one page. */
export function renderNotes(notes) {
  return renderLayout("Notes · Plume", `<h1>Notes</h1>${notes.map(renderNote).join("")}`);
}

export function renderNotFound(path) {
  return renderLayout("Introuvable · Plume", `<h1>Introuvable</h1><p>Rien à l'adresse ${escapeHtml(path)}.</p>`);
}

function renderNote(note) {
  const source = note.source === null ? "" : `<p class="source">${escapeHtml(note.source)}</p>`;
  return `<article><h2>${escapeHtml(note.title)}</h2>${source}${note.paragraphs.map(renderParagraph).join("")}</article>`;
}

function renderParagraph(paragraph) {
  return paragraph.startsWith("> ")
    ? `<blockquote><p>${escapeHtml(paragraph.slice(2))}</p></blockquote>`
    : `<p>${escapeHtml(paragraph)}</p>`;
}

function renderLayout(title, content) {
  return [
    "<!doctype html>",
    '<html lang="fr">',
    `<head><meta charset="utf-8"><title>${escapeHtml(title)}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/style.css"></head>',
    `<body><nav><a href="/">Accueil</a><a href="/notes">Notes</a></nav><main>${content}</main>${renderFooter()}</body>`,
    "</html>",
  ].join("\n");
}
