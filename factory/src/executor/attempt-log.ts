import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../lib/errors.ts";
import type { Redactor } from "../lib/redaction.ts";
import { createRedactionStream } from "../lib/redaction/redact-stream.ts";

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** What an agent CLI printed, redacted, for operators. A log that cannot be written costs the log, not the work. */
export interface AttemptLog {
  write(line: string): void;
  close(): void;
}

/** @throws the system's error when the file cannot be opened. */
export function openAttemptLog(file: string, redactor: Redactor, onError: (message: string) => void): AttemptLog {
  mkdirSync(dirname(file), { recursive: true, mode: FOLDER_MODE });
  const descriptor = openSync(file, "a", FILE_MODE);
  // Not line by line: a key of several lines is none in any of them.
  const stream = createRedactionStream(redactor);
  let hasFailed = false;
  const store = (text: string): void => {
    if (hasFailed || text === "") return;
    try {
      writeSync(descriptor, text);
    } catch (error) {
      hasFailed = true;
      onError(messageOf(error));
    }
  };
  return {
    write: (line) => store(stream.write(`${line}\n`)),
    close() {
      store(stream.end());
      closeSync(descriptor);
    },
  };
}

const TAIL_CHARS = 4096;

/**
 * Redacts a file that a process wrote by itself (its standard error), in place, and returns its last 4 kB; an empty
 * one is removed.
 */
export async function sealLogFile(file: string, redactor: Redactor): Promise<string> {
  const { size } = await stat(file);
  if (size === 0) {
    await rm(file, { force: true });
    return "";
  }
  const sealed = `${file}.sealed`;
  let tail = "";
  await pipeline(
    createReadStream(file, "utf8"),
    async function* (chunks: AsyncIterable<string>) {
      const stream = createRedactionStream(redactor);
      for await (const chunk of chunks) yield keepTail(stream.write(chunk));
      yield keepTail(stream.end());
    },
    createWriteStream(sealed, { mode: FILE_MODE }),
  );
  await rename(sealed, file);
  return tail;

  function keepTail(text: string): string {
    tail = (tail + text).slice(-TAIL_CHARS);
    return text;
  }
}
