import { Worker } from "node:worker_threads";

export type ToWorker = { readonly type: "execute"; readonly id: number; readonly bytes: Uint8Array } | { readonly type: "close" };
export type FromWorker =
  | { readonly type: "ready" }
  | { readonly type: "answer"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly type: "closed" }
  /** Nothing further will be answered. */
  | { readonly type: "failed"; readonly reason: string };

/** PGlite in its thread. */
export interface PgliteHost {
  /** Sends PostgreSQL wire messages, gives the answer's. @throws when the thread is gone, saying why. */
  execute(bytes: Uint8Array): Promise<Uint8Array>;
  /** Shuts the base down cleanly, then the thread. Never rejects. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(bytes: Uint8Array): void;
  reject(error: Error): void;
}

const THREAD = new URL("./pglite-worker.ts", import.meta.url);
const STDERR_TAIL_CHARS = 2000;

/**
 * Starts PGlite on `folder` in a worker thread; a folder without a base gets one (initdb, seconds).
 * The caller holds the owner lock.
 */
export async function startPglite(folder: string, thread: URL = THREAD): Promise<PgliteHost> {
  // Its output is not ours: a command's stdout holds the command's answer only. Its environment is empty: no secret.
  const worker = new Worker(thread, {
    workerData: { folder },
    env: {},
    stdout: true,
    stderr: true,
  });
  let stderrTail = "";
  worker.stdout.resume();
  worker.stderr.on("data", (chunk: Buffer) => (stderrTail = (stderrTail + chunk.toString()).slice(-STDERR_TAIL_CHARS)));

  const waiting = new Map<number, Waiting>();
  let nextId = 1;
  let dead: Error | undefined;
  const ready = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const die = (reason: string): void => {
    if (dead !== undefined) return;
    dead = new Error(`the embedded database stopped: ${reason}${stderrTail === "" ? "" : ` (${stderrTail.trim()})`}`);
    ready.reject(dead);
    for (const { reject } of waiting.values()) reject(dead);
    waiting.clear();
    closed.resolve();
  };
  worker.on("message", (message: FromWorker) => {
    if (message.type === "ready") ready.resolve();
    else if (message.type === "closed") closed.resolve();
    else if (message.type === "failed") die(message.reason);
    else {
      waiting.get(message.id)?.resolve(message.bytes);
      waiting.delete(message.id);
    }
  });
  worker.on("error", (error) => die(error instanceof Error ? error.message : String(error)));
  worker.on("exit", (code) => die(`its thread ended with code ${code}`));

  try {
    await ready.promise;
  } catch (error) {
    await worker.terminate();
    throw error;
  }
  return {
    execute(bytes) {
      if (dead !== undefined) return Promise.reject(dead);
      const id = nextId++;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        worker.postMessage({ type: "execute", id, bytes } satisfies ToWorker, [bytes.buffer as ArrayBuffer]);
      });
    },
    async close() {
      if (dead === undefined) {
        worker.postMessage({ type: "close" } satisfies ToWorker, []);
        await closed.promise;
        die("it was closed");
      }
      await worker.terminate();
    },
  };
}
