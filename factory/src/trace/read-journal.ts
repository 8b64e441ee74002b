import { type BigIntStats, closeSync, fstatSync, openSync, statSync } from "node:fs";
import { hashPrefix, toChangeStamp } from "./fingerprint.ts";
import type { JournalFile } from "./journal-files.ts";
import { type RawLine, readLines } from "./read-lines.ts";

/** How far a mirror has read a journal. */
export interface JournalState {
  readonly key: string;
  readonly kind: string;
  readonly sizeBytes: number;
  /** Start of what is not yet read for good: a last line without line end is read again when it has one. */
  readonly offsetBytes: number;
  readonly inode: string;
  /** Whole lines before the offset. */
  readonly lineNo: number;
  /** `<change stamp>:<hash of what was read>`. */
  readonly fingerprint: string | null;
}

export interface JournalLine extends RawLine {
  readonly lineNo: number;
}

/** A journal opened at the place where its mirror stands. */
export interface JournalReading {
  readonly lines: Iterable<JournalLine>;
  /** True: it was changed, not only appended to, and is read again from its start. */
  readonly isRewritten: boolean;
  /** The state after the lines read so far; the last unterminated line is not among them. */
  toState(): JournalState;
  close(): void;
}

/** True when nothing was written since `state`: without opening the file. A file that is gone has nothing new either. */
export function isUnchanged(file: JournalFile, state: JournalState | undefined): boolean {
  const stats = statSync(file.path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return true;
  if (state === undefined) return false;
  return (
    Number(stats.size) === state.sizeBytes &&
    stats.ino.toString() === state.inode &&
    state.fingerprint?.startsWith(`${toChangeStamp(stats)}:`) === true
  );
}

/** Opens a journal to read what `state` does not know. @throws the system's error when it cannot be read. */
export function openReading(file: JournalFile, state: JournalState | undefined): JournalReading {
  const descriptor = openSync(file.path, "r");
  try {
    const stats = fstatSync(descriptor, { bigint: true });
    const isContinued = state !== undefined && isAppendedTo(descriptor, stats, state);
    let offsetBytes = isContinued ? state.offsetBytes : 0;
    let lineNo = isContinued ? state.lineNo : 0;
    function* countLines(): Generator<JournalLine> {
      for (const line of readLines(descriptor, offsetBytes)) {
        if (line.isTerminated) {
          offsetBytes = line.endOffset;
          lineNo++;
        }
        yield { ...line, lineNo: line.isTerminated ? lineNo : lineNo + 1 };
      }
    }
    return {
      lines: countLines(),
      isRewritten: state !== undefined && !isContinued,
      toState: () => ({
        ...{ key: file.key, kind: file.kind, sizeBytes: Number(stats.size), offsetBytes, inode: stats.ino.toString(), lineNo },
        fingerprint: `${toChangeStamp(stats)}:${hashPrefix(descriptor, offsetBytes)}`,
      }),
      close: () => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function isAppendedTo(descriptor: number, stats: BigIntStats, state: JournalState): boolean {
  if (stats.ino.toString() !== state.inode || Number(stats.size) < state.offsetBytes) return false;
  const hash = state.fingerprint?.slice(state.fingerprint.indexOf(":") + 1);
  return hash === hashPrefix(descriptor, state.offsetBytes);
}
