import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { loadNotes } from "./notes.js";
import { renderHome, renderNotes, renderNotFound } from "./pages.js";

const STYLE = readFileSync(new URL("../public/style.css", import.meta.url));
const HTML = "text/html; charset=utf-8";

/** The web server of the notebook; it does not listen yet. */
export function createNotebook() {
  return createServer((request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" });
      return response.end();
    }
    const { status, type, body } = answer(request.url.split("?")[0]);
    response.writeHead(status, { "content-type": type, "x-content-type-options": "nosniff" });
    response.end(request.method === "HEAD" ? undefined : body);
  });
}

function answer(path) {
  if (path === "/") return { status: 200, type: HTML, body: renderHome(loadNotes()) };
  if (path === "/notes") return { status: 200, type: HTML, body: renderNotes(loadNotes()) };
  if (path === "/style.css") return { status: 200, type: "text/css; charset=utf-8", body: STYLE };
  return { status: 404, type: HTML, body: renderNotFound(path) };
}
