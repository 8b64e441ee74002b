/** What is kept of an answer to write its bill: its beginning and its end, never more than the two limits. */
export interface ResponseRecord {
  push(chunk: Buffer): void;
  readonly sizeBytes: number;
  /** The whole answer, or its kept beginning and end. */
  parts(): { readonly head: Buffer; readonly tail: Buffer; readonly isWhole: boolean };
}

export interface RecordLimits {
  readonly headBytes: number;
  readonly tailBytes: number;
}

/** Keeps references to chunks, copies nothing while they stream. */
export function createResponseRecord({ headBytes, tailBytes }: RecordLimits): ResponseRecord {
  const head: Buffer[] = [];
  const tail: Buffer[] = [];
  let headSize = 0;
  let tailSize = 0;
  let sizeBytes = 0;
  return {
    push(chunk) {
      sizeBytes += chunk.length;
      if (tail.length === 0 && headSize + chunk.length <= headBytes) {
        head.push(chunk);
        headSize += chunk.length;
        return;
      }
      tail.push(chunk);
      tailSize += chunk.length;
      while (tail.length > 1 && tailSize - (tail[0]?.length ?? 0) >= tailBytes) tailSize -= tail.shift()?.length ?? 0;
    },
    get sizeBytes() {
      return sizeBytes;
    },
    parts() {
      const isWhole = headSize + tailSize === sizeBytes;
      if (isWhole) return { head: Buffer.concat([...head, ...tail]), tail: Buffer.alloc(0), isWhole };
      return { head: Buffer.concat(head), tail: Buffer.concat(tail), isWhole };
    },
  };
}
