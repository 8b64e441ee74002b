import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { createInflate } from "node:zlib";
import { FactoryError, messageOf } from "../lib/errors.ts";
import type { Git, GitPlace } from "./git.ts";

export interface BlobSource {
  readonly git: Git;
  readonly place: GitPlace;
  readonly objectDirs: readonly string[];
}

/** Most bytes of one file that are read; a larger one gives `too-large` and no content. */
export const MAX_BLOB_BYTES = 256 * 1024 * 1024;

/**
 * A blob's bytes in chunks, read from its loose object (zlib of `blob <size>\0<bytes>`, gitformat-loose(5)) without a
 * process, else from git. @throws too-large; git-failed for a damaged object.
 */
export async function* readBlob(source: BlobSource, blob: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const file = await findLooseObject(source.objectDirs, blob);
  if (file === undefined) {
    yield* readByGit(source, blob, signal);
    return;
  }
  // Its errors come out of the loop below; the callback only keeps them from being thrown twice.
  const inflated = pipeline(createReadStream(file, { signal }), createInflate(), () => undefined);
  let isHeader = true;
  let head = Buffer.alloc(0);
  try {
    for await (const chunk of inflated as AsyncIterable<Buffer>) {
      if (!isHeader) {
        yield chunk;
        continue;
      }
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(0);
      if (end === -1 && head.length < MAX_HEADER_BYTES) continue;
      checkSize(/^blob (\d{1,15})$/.exec(head.toString("latin1", 0, Math.max(end, 0)))?.[1], blob);
      isHeader = false;
      yield head.subarray(end + 1);
    }
  } catch (error) {
    if (error instanceof FactoryError || signal.aborted) throw error;
    throw new FactoryError("git-failed", `git object ${blob} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

const MAX_HEADER_BYTES = 64;

async function findLooseObject(objectDirs: readonly string[], blob: string): Promise<string | undefined> {
  for (const folder of objectDirs) {
    const file = join(folder, blob.slice(0, 2), blob.slice(2));
    if ((await stat(file).catch(() => undefined))?.isFile() === true) return file;
  }
  return undefined;
}

function checkSize(size: string | undefined, blob: string): void {
  if (size === undefined) throw new FactoryError("git-failed", `git object ${blob} is no blob`);
  if (Number(size) > MAX_BLOB_BYTES) throw new FactoryError("too-large", `${Math.round(Number(size) / 2 ** 20)} MiB`);
}

async function* readByGit({ git, place }: BlobSource, blob: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  checkSize((await git.run(["cat-file", "-s", blob], place, signal)).trim(), blob);
  yield Buffer.from(await git.run(["cat-file", "blob", blob], { ...place, maxOutputBytes: MAX_BLOB_BYTES }, signal));
}
