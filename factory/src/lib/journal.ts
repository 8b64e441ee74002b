import { closeSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** The one way to append to a JSONL journal (runner events, bills). */
export interface Journal {
  readonly file: string;
  /**
   * Hands one line to the system: `write` has returned when this returns. Lines of concurrent writers never mix.
   * @throws the system's error (ENOSPC, EROFS, …); no half line is left behind for the next writer.
   */
  append(line: object): void;
  close(): void;
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const LF = 10;

/** Opens `file` for appending, with its folder; both are the user's only. */
export function openJournal(file: string): Journal {
  mkdirSync(dirname(file), { recursive: true, mode: FOLDER_MODE });
  const descriptor = openSync(file, "a+", FILE_MODE);
  let torn = endsTorn(descriptor);
  return {
    file,
    append(line) {
      const bytes = Buffer.from(`${torn ? "\n" : ""}${JSON.stringify(line)}\n`);
      // O_APPEND makes one write atomic among writers; a short write (disk full) is ended by a newline at the next append.
      const written = writeSync(descriptor, bytes);
      torn = written !== bytes.length;
      if (torn)
        throw Object.assign(new Error(`only ${written} of ${bytes.length} bytes written to ${file}: disk full?`), { code: "ENOSPC" });
    },
    close() {
      closeSync(descriptor);
    },
  };
}

/** True when a writer was killed in the middle of its last line: ours must not become part of it. */
function endsTorn(descriptor: number): boolean {
  const { size } = fstatSync(descriptor);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== LF;
}
