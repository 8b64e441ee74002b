import type { Migration } from "kysely/migration";
import * as spine from "./migrations/0001-spine.sql.ts";

/** Every migration by name, oldest first. Append only: what has run somewhere is never changed. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-spine": spine,
};
