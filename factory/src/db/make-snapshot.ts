import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { storeSnapshot, toSnapshotPath } from "./snapshot.ts";

/** Makes the snapshot for first starts if it is missing; milliseconds when it is there. Several may run at once. */
export async function makeSnapshot(snapshot: string = toSnapshotPath()): Promise<void> {
  if (existsSync(snapshot)) return;
  const { openEmbedded } = await import("./open-embedded.ts"); // PGlite and its driver: only for those who need them
  const { migrate } = await import("./migrate.ts");
  const workshop = `${snapshot}.${randomUUID()}.tmp`;
  try {
    const database = await openEmbedded(workshop, { snapshot: null });
    try {
      await migrate(database.db);
    } finally {
      await database.close();
    }
    await storeSnapshot(join(workshop, "db"), snapshot);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

if (import.meta.main) await makeSnapshot();
