import type { Harness } from "@harnais/contracts/statuses.ts";
import { sql } from "kysely";
import type { Db } from "../db/tables.ts";

/** A row of `projects`. */
export interface ProjectRow {
  readonly id: string;
  readonly name: string;
  /** The main checkout's top level, absolute and real. */
  readonly repo: string;
  readonly baseBranch: string;
  readonly validation: readonly string[];
  readonly validationAttempts: number;
  readonly agent: Harness;
  /** `provider/id`; null: the house's default. */
  readonly model: string | null;
  readonly scope: string | null;
  readonly pausedAt: string | null;
  readonly createdAt: string;
}

export type NewProject = Omit<ProjectRow, "pausedAt" | "createdAt">;
/** Columns that a person may change; unnamed ones stay. */
export type ProjectChange = Partial<Omit<NewProject, "id" | "repo">>;

const COLUMNS = [
  "id",
  "name",
  "repo",
  "baseBranch",
  "validation",
  "validationAttempts",
  "agent",
  "model",
  "scope",
  "pausedAt",
  "createdAt",
] as const;

export async function findProject(db: Db, id: string): Promise<ProjectRow | undefined> {
  return db.selectFrom("projects").select(COLUMNS).where("id", "=", id).executeTakeFirst();
}

export async function findProjectByRepo(db: Db, repo: string): Promise<ProjectRow | undefined> {
  return db.selectFrom("projects").select(COLUMNS).where("repo", "=", repo).executeTakeFirst();
}

/** By id, `limit` rows after `after`. */
export async function listProjects(db: Db, page: { readonly after: string | undefined; readonly limit: number }): Promise<ProjectRow[]> {
  const query = db.selectFrom("projects").select(COLUMNS).orderBy("id").limit(page.limit);
  return (page.after === undefined ? query : query.where("id", ">", page.after)).execute();
}

/** Undefined when the id or the repository is taken. */
export async function insertProject(db: Db, project: NewProject): Promise<ProjectRow | undefined> {
  return db
    .insertInto("projects")
    .values({ ...project, validation: [...project.validation], ceilings: "{}", allowHosts: [], trusted: "{}" })
    .onConflict((conflict) => conflict.doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
}

export async function updateProject(db: Db, id: string, change: ProjectChange): Promise<ProjectRow | undefined> {
  const { validation, ...plain } = change;
  const values = { ...plain, ...(validation === undefined ? {} : { validation: [...validation] }) };
  return db.updateTable("projects").set(values).where("id", "=", id).returning(COLUMNS).executeTakeFirst();
}

/** How many runs and requests name the project. */
export async function countProjectUses(db: Db, id: string): Promise<number> {
  const counted = await db
    .selectNoFrom((eb) => [
      eb.selectFrom("runs").select(eb.fn.countAll<number>().as("count")).where("projectId", "=", id).as("runs"),
      eb.selectFrom("requests").select(eb.fn.countAll<number>().as("count")).where("projectId", "=", id).as("requests"),
    ])
    .executeTakeFirstOrThrow();
  return Number(counted.runs) + Number(counted.requests);
}

/** False when there is no such row. */
export async function deleteProject(db: Db, id: string): Promise<boolean> {
  const result = await db.deleteFrom("projects").where("id", "=", id).executeTakeFirst();
  return result.numDeletedRows > 0n;
}

/** What the project's operator has trusted: `{file: sha256}`, as stored; undefined when there is no such row. */
export async function readTrusted(db: Db, id: string): Promise<unknown> {
  return (await db.selectFrom("projects").select("trusted").where("id", "=", id).executeTakeFirst())?.trusted;
}

/** Trusts one more file (or its new content); false when there is no such row. */
export async function addTrusted(
  db: Db,
  id: string,
  { file, sha256 }: { readonly file: string; readonly sha256: string },
): Promise<boolean> {
  const entry = JSON.stringify({ [file]: sha256 });
  const result = await db
    .updateTable("projects")
    .set({ trusted: sql`trusted || ${entry}::jsonb` })
    .where("id", "=", id)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}
