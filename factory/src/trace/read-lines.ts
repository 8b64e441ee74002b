import { readSync } from "node:fs";

const CHUNK_BYTES = 256 * 1024;
const LF = 10;
// Same figure as contracts/journal-line.ts, which would load zod on a path that must start fast (a test compares).
export const MAX_JOURNAL_LINE_BYTES = 16 * 1024 * 1024;

export interface RawLine {
  /** Null: longer than the limit, its bytes were not kept. */
  readonly text: string | null;
  /** Where the next line begins. */
  readonly endOffset: number;
  /** False: the file ends in it; it may be torn, or only lack its line end. */
  readonly isTerminated: boolean;
}

/** Lines of an open file from `offset` on. Memory is bounded by the longest line allowed. */
export function* readLines(descriptor: number, offset: number, maxLineBytes = MAX_JOURNAL_LINE_BYTES): Generator<RawLine> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let held: Buffer[] = [];
  let heldBytes = 0;
  let position = offset;
  for (
    let size = readSync(descriptor, chunk, 0, CHUNK_BYTES, position);
    size > 0;
    size = readSync(descriptor, chunk, 0, CHUNK_BYTES, position)
  ) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1 && end < size; end = chunk.indexOf(LF, start)) {
      const length = heldBytes + end - start;
      const text = length > maxLineBytes ? null : toText(held, chunk, { start, end });
      held = [];
      heldBytes = 0;
      start = end + 1;
      yield { text, endOffset: position + start, isTerminated: true };
    }
    heldBytes += size - start;
    // Beyond the limit only the length is of interest.
    if (heldBytes > maxLineBytes) held = [];
    else if (start < size) held.push(Buffer.from(chunk.subarray(start, size)));
    position += size;
  }
  if (heldBytes > 0)
    yield { text: heldBytes > maxLineBytes ? null : Buffer.concat(held).toString("utf8"), endOffset: position, isTerminated: false };
}

function toText(held: readonly Buffer[], chunk: Buffer, { start, end }: { start: number; end: number }): string {
  if (held.length === 0) return chunk.toString("utf8", start, end);
  return Buffer.concat([...held, chunk.subarray(start, end)]).toString("utf8");
}
