import { parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import type { FromWorker, ToWorker } from "./pglite-host.ts";

// The thread that owns PGlite: a long query stalls this event loop, not the server's. One request at a time, by order.

const port = parentPort;
if (port === null) throw new Error("pglite-worker.ts runs as a worker thread only");
const send = (message: FromWorker, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);
const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const { folder } = workerData as { folder: string };
const starting = PGlite.create({ dataDir: folder });
starting.then(
  () => send({ type: "ready" }),
  (error: unknown) => send({ type: "failed", reason: describe(error) }),
);

let queue: Promise<void> = Promise.resolve();
port.on("message", (message: ToWorker) => {
  queue = queue.then(() => handle(message));
});

async function handle(message: ToWorker): Promise<void> {
  try {
    const pglite = await starting;
    if (message.type === "close") {
      await pglite.close();
      send({ type: "closed" });
      return;
    }
    const answer = await pglite.execProtocolRaw(message.bytes);
    // A copy: the answer may be a view of the wasm memory, which must not be transferred.
    const bytes = new Uint8Array(answer);
    send({ type: "answer", id: message.id, bytes }, [bytes.buffer]);
  } catch (error) {
    send({ type: "failed", reason: describe(error) });
  }
}
