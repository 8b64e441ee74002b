/** `Request: <first line>`, the line by which every prompt of a phase quotes what a person asked for. */
export function toRequestLine(input: string): string {
  const [first = "", ...rest] = input.trim().split(/\r?\n/);
  return rest.length === 0 ? `Request: ${first}` : `Request: ${first}\n${rest.join("\n")}`;
}
