import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "./make-folder.ts";

/** The one way to append to a JSONL journal (runner events, bills). */
export interface Journal {
  readonly file: string;
  /**
   * Hands one line to the system: `write` has returned when this returns. Lines of concurrent writers never mix.
   * @throws the system's error (ENOSPC, EROFS, …). Where this is the only writer no half line stays; elsewhere a half
   * line is ended by a line end before the next one.
   */
  append(line: object): void;
  close(): void;
}

export interface JournalOptions {
  /** Nobody else appends to this file: a half line can be taken back. Default false. */
  readonly isOnlyWriter?: boolean;
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const LF = 10;

/** Opens `file` for appending, with its folder; both are the user's only. */
export function openJournal(file: string, { isOnlyWriter = false }: JournalOptions = {}): Journal {
  makeFolder(dirname(file), FOLDER_MODE);
  const descriptor = openSync(file, "a+", FILE_MODE);
  let torn = endsTorn(descriptor);
  let isClosed = false;
  return {
    file,
    append(line) {
      // A closed descriptor's number may be another file's by now.
      if (isClosed) throw new Error(`${file} is closed`);
      const bytes = Buffer.from(`${torn ? "\n" : ""}${JSON.stringify(line)}\n`);
      // O_APPEND makes one write atomic among writers.
      const written = writeSync(descriptor, bytes);
      torn = written !== bytes.length;
      if (!torn) return;
      if (isOnlyWriter) {
        ftruncateSync(descriptor, fstatSync(descriptor).size - written);
        torn = endsTorn(descriptor);
      }
      throw Object.assign(new Error(`only ${written} of ${bytes.length} bytes written to ${file}: disk full?`), { code: "ENOSPC" });
    },
    close() {
      if (isClosed) return;
      isClosed = true;
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
