const LF = 0x0a;
const MEBIBYTE = 1024 * 1024;
/** A longer line is cut here, so that no output fills the memory. */
export const MAX_LINE_BYTES = 64 * MEBIBYTE;

export interface LineSplitter {
  push(chunk: Buffer): void;
  /** Gives the last line when it has no line end. */
  flush(): void;
}

/**
 * Cuts a byte stream into lines at LF only (U+2028 is text), whatever the chunk borders; carriage returns and escape
 * sequences are taken out. A line beyond `maxLineBytes` is cut and says so at its end.
 */
export function createLineSplitter(onLine: (line: string) => void, maxLineBytes: number = MAX_LINE_BYTES): LineSplitter {
  let parts: Buffer[] = [];
  let sizeBytes = 0;
  let droppedBytes = 0;

  const keep = (part: Buffer): void => {
    const kept = part.subarray(0, Math.max(0, maxLineBytes - sizeBytes));
    droppedBytes += part.length - kept.length;
    if (kept.length === 0) return;
    parts.push(kept);
    sizeBytes += kept.length;
  };
  const emit = (): void => {
    const text = toCleanLine(Buffer.concat(parts).toString("utf8"));
    const cut = droppedBytes === 0 ? "" : ` [line cut: ${droppedBytes} bytes dropped]`;
    parts = [];
    sizeBytes = 0;
    droppedBytes = 0;
    onLine(text + cut);
  };
  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
        keep(chunk.subarray(start, end));
        start = end + 1;
        emit();
      }
      keep(chunk.subarray(start));
    },
    flush() {
      if (sizeBytes > 0 || droppedBytes > 0) emit();
    },
  };
}

// OSC, DCS, SOS, PM, APC with their text; CSI; two-character escapes (ECMA-48). No nested repetition: linear.
const ESCAPES =
  // oxlint-disable-next-line no-control-regex
  /\u001B(?:[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\)?|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-Z\\`-~]?)/g;

/** Takes escape sequences and carriage returns out of a line. Valid JSON holds neither raw. */
export function toCleanLine(line: string): string {
  const text = line.includes("\u001B") ? line.replace(ESCAPES, "") : line;
  return text.includes("\r") ? text.replaceAll("\r", "") : text;
}
