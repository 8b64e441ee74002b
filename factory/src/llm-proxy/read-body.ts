import type { IncomingMessage } from "node:http";

const LINGER_MS = 2000;

export type BodyRead =
  | { readonly type: "body"; readonly bytes: Buffer }
  | { readonly type: "too-large" }
  /** The client left before the end. */
  | { readonly type: "aborted" };

/** Reads a request's body up to `maxBytes`: refused by its declared length at once, else as soon as it has grown too large. Never rejects. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<BodyRead> {
  const declared = Number(request.headers["content-length"]);
  if (declared > maxBytes) return Promise.resolve({ type: "too-large" });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (result: BodyRead): void => {
      request.off("data", onData);
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBytes) return settle({ type: "too-large" });
      chunks.push(chunk);
    };
    request.on("data", onData);
    request.once("end", () =>
      settle({ type: "body", bytes: chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks) }),
    );
    request.once("error", () => settle({ type: "aborted" }));
    request.once("close", () => settle({ type: "aborted" }));
  });
}

/**
 * After an answer that did not read the whole body: the rest is thrown away for a moment, so that the answer reaches a
 * client that is still sending (a reset would destroy it on its way), then the connection is cut.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.complete) return;
  request.resume();
  const timer = setTimeout(() => request.socket.destroy(), LINGER_MS);
  timer.unref();
  request.once("close", () => clearTimeout(timer));
}
