import { escapeHtml } from "./escape.js";

/** The footer of every page. */
export function renderFooter() {
  const parts = ["Plume, carnet public"];
  return `<footer><p>${parts.map(escapeHtml).join(" · ")}</p></footer>`;
}
