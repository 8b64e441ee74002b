import { DatabaseSync } from "node:sqlite";

/** Rows of a query as a user of the sqlite shell gets them. */
export function query(dbFile: string, sql: string, ...values: (string | number)[]): Record<string, unknown>[] {
  const db = new DatabaseSync(dbFile, { readOnly: true });
  try {
    return db
      .prepare(sql)
      .all(...values)
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

/** The mirror's harness events in the form of `countRaw`. */
export function readMirror(dbFile: string): Record<string, string> {
  const rows = query(dbFile, "SELECT * FROM harness_events ORDER BY rowid");
  return Object.fromEntries(
    rows.map((row) => [
      row["event_id"],
      JSON.stringify([row["session_id"], row["type"], row["name"], row["ts"], JSON.parse(String(row["payload_json"]))]),
    ]),
  );
}
