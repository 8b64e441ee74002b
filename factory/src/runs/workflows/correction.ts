/** What a further attempt is told in the live session: why the one before failed, and the request once more. */
export function toRetryCorrection(reason: string, input: string): string {
  return [
    "The previous attempt failed, and its work so far is still in place.",
    `Reason: ${reason}`,
    toRequestLine(input),
    "Go on from where it stopped and finish what was asked.",
  ].join("\n");
}

/** `Request: <first line>`, the line by which every prompt of a phase quotes what a person asked for. */
export function toRequestLine(input: string): string {
  const [first = "", ...rest] = input.trim().split(/\r?\n/);
  return rest.length === 0 ? `Request: ${first}` : `Request: ${first}\n${rest.join("\n")}`;
}
