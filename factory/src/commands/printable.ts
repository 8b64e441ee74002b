/**
 * Text of a model, an agent or a file as it may be shown on a terminal: without control characters, which could move
 * the cursor, set the title or the clipboard, or fake our own lines. Line ends and tabs stay.
 */
export function toPrintable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is taken out
  return text.replace(/\r\n/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");
}
