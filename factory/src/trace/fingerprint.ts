import { createHash } from "node:crypto";
import { type BigIntStats, readSync } from "node:fs";

// Files of a run are far smaller; beyond it only both ends are compared.
const WHOLE_BYTES = 8 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** When a file was last changed, as the system says: also an edit that keeps the size, or that sets the time back. */
export const toChangeStamp = ({ mtimeNs, ctimeNs }: BigIntStats): string => `${mtimeNs}.${ctimeNs}`;

/**
 * What tells an append from a rewrite: a hash of the first `length` bytes. Of more than 8 MiB only the first and last
 * 4 MiB count: an edit in the middle of so long a file, while it also grows, is not seen (`trace check` reads all).
 */
export function hashPrefix(descriptor: number, length: number): string {
  const hash = createHash("sha1");
  const ranges =
    length <= WHOLE_BYTES ? [[0, length] as const] : [[0, WHOLE_BYTES / 2] as const, [length - WHOLE_BYTES / 2, length] as const];
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (const [start, end] of ranges) {
    for (let at = start; at < end;) {
      const size = readSync(descriptor, chunk, 0, Math.min(CHUNK_BYTES, end - at), at);
      if (size === 0) break;
      hash.update(chunk.subarray(0, size));
      at += size;
    }
  }
  return hash.digest("base64url");
}
