import { Duplex } from "node:stream";
import type { PgliteHost } from "./pglite-host.ts";

// What a `pg` client talks to instead of a socket: PostgreSQL's wire protocol (version 3.0, "Message Flow"), answered by
// PGlite. So that both bases share one driver: the same parsers, the same errors with their SQLSTATE, the same types.

const HEADER_BYTES = 5;
const TYPE_QUERY = 0x51;
const TYPE_SYNC = 0x53;
const TYPE_TERMINATE = 0x58;
const AUTHENTICATION_OK = Buffer.from("520000000800000000", "hex");
const READY_FOR_QUERY = Buffer.from("5a0000000549", "hex");
// PGlite has one session for good: what a former client left open ends here.
const ROLLBACK = Buffer.concat([Buffer.of(TYPE_QUERY, 0, 0, 0, 13), Buffer.from("rollback\0")]);

/** One connection to PGlite. It must not live beside another one: they would share the session. */
export class PgliteStream extends Duplex {
  readonly #host: PgliteHost;
  #pending = Buffer.alloc(0);
  #isStarted = false;

  constructor(host: PgliteHost) {
    super();
    this.#host = host;
  }

  // What `pg` calls on a socket.
  connect(): this {
    process.nextTick(() => this.emit("connect"));
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }

  override _read(): void {
    // answers are pushed as they come
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    void this.#answer([chunk], callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    void this.#answer(
      chunks.map(({ chunk }) => chunk),
      callback,
    );
  }

  async #answer(chunks: readonly Buffer[], callback: (error?: Error | null) => void): Promise<void> {
    let failure: Error | null = null;
    try {
      await this.#take(chunks);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    }
    callback(failure);
  }

  async #take(chunks: readonly Buffer[]): Promise<void> {
    this.#pending = Buffer.concat([this.#pending, ...chunks]);
    if (!this.#isStarted) await this.#start();
    const { endOfBatch, isTerminated } = findBatch(this.#pending);
    if (endOfBatch > 0) {
      // A copy of its own, for it is transferred to the other thread.
      const batch = new Uint8Array(this.#pending.subarray(0, endOfBatch));
      this.#pending = this.#pending.subarray(endOfBatch);
      this.push(Buffer.from((await this.#host.execute(batch)).buffer));
    }
    if (isTerminated) this.push(null);
  }

  /** The start-up message has no type; nobody needs to prove who they are within one process. */
  async #start(): Promise<void> {
    this.#isStarted = true;
    this.#pending = this.#pending.subarray(this.#pending.readInt32BE(0));
    await this.#host.execute(new Uint8Array(ROLLBACK));
    this.push(Buffer.concat([AUTHENTICATION_OK, READY_FOR_QUERY]));
  }
}

/** A batch ends with Query or Sync: before it PostgreSQL owes no answer. */
function findBatch(bytes: Buffer): { endOfBatch: number; isTerminated: boolean } {
  let endOfBatch = 0;
  let offset = 0;
  while (offset + HEADER_BYTES <= bytes.length) {
    const type = bytes[offset];
    if (type === TYPE_TERMINATE) return { endOfBatch, isTerminated: true };
    offset += 1 + bytes.readInt32BE(offset + 1);
    if (offset > bytes.length) break;
    if (type === TYPE_QUERY || type === TYPE_SYNC) endOfBatch = offset;
  }
  return { endOfBatch, isTerminated: false };
}
