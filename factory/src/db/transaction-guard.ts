import { AsyncLocalStorage } from "node:async_hooks";
import type { Kysely, PostgresPool, PostgresPoolClient, TransactionBuilder } from "kysely";

// The embedded base has one session: whoever asks `db` for it while holding it would wait for ever.

interface OpenTransaction {
  isOpen: boolean;
}

const current = new AsyncLocalStorage<OpenTransaction>();
// Work started in a transaction and not awaited there is no deadlock: it gets the session when the transaction ends.
const PATIENCE_MS = 3000;

/** Remembers, for everything called inside `db.transaction().execute(…)`, that a transaction is open. */
export function guardTransactions<Tables>(db: Kysely<Tables>): Kysely<Tables> {
  const begin = db.transaction.bind(db);
  db.transaction = () => guardBuilder(begin());
  return db;
}

function guardBuilder<Tables>(builder: TransactionBuilder<Tables>): TransactionBuilder<Tables> {
  const guarded: Pick<TransactionBuilder<Tables>, keyof TransactionBuilder<Tables>> = {
    setAccessMode: (mode) => guardBuilder(builder.setAccessMode(mode)),
    setIsolationLevel: (level) => guardBuilder(builder.setIsolationLevel(level)),
    execute: (callback) =>
      builder.execute(async (transaction) => {
        const open: OpenTransaction = { isOpen: true };
        try {
          return await current.run(open, () => callback(transaction));
        } finally {
          open.isOpen = false;
        }
      }),
  };
  return guarded as TransactionBuilder<Tables>;
}

/** A pool that refuses, after a while, a second session to the inside of a transaction. */
export function guardPool(pool: PostgresPool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: () => (current.getStore()?.isOpen === true ? connectWithPatience(pool) : pool.connect()),
  };
}

async function connectWithPatience(pool: PostgresPool): Promise<PostgresPoolClient> {
  const connecting = pool.connect();
  let timer: NodeJS.Timeout | undefined;
  const impatience = new Promise<never>((_resolve, reject) => {
    const error = new Error("a query went through `db` inside its own transaction: use the transaction's handle");
    timer = setTimeout(() => reject(error), PATIENCE_MS);
  });
  try {
    return await Promise.race([connecting, impatience]);
  } catch (error) {
    connecting.then(
      (client) => client.release(),
      () => undefined,
    );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
