import { basename } from "node:path";
import type { ProjectInput } from "@harnais/contracts/api-bodies.ts";
import { SLUG } from "@harnais/contracts/api-bodies.ts";
import type { Harness } from "@harnais/contracts/statuses.ts";
import type { Db } from "../db/tables.ts";
import { FactoryError } from "../lib/errors.ts";
import { detectValidation } from "./detect-validation.ts";
import { parseRef } from "./git-ref.ts";
import type { Git } from "./git.ts";
import { findProject, findProjectByRepo, insertProject, updateProject } from "./project.sql.ts";
import type { ProjectChange, ProjectRow } from "./project.sql.ts";
import { findRepository, readBaseBranch, readBranch } from "./repository.ts";

/** A project as the rest of the factory sees it. */
export interface ProjectView extends Omit<ProjectRow, "validation"> {
  /** What is run: the row's own commands, else those detected in the repository. */
  readonly validation: readonly string[];
  /** True: the row names none and these were found in the repository's files. */
  readonly validationDetected: boolean;
}

export interface ProjectDeps {
  readonly db: Db;
  readonly git: Git;
}

const DEFAULT_AGENT: Harness = "pi";
const DEFAULT_VALIDATION_ATTEMPTS = 3;

/**
 * The project that `idOrPath` names: a row's id, else an absolute path; a path without row makes the row.
 * @throws not-found (no such id), not-a-repository, bad-input.
 */
export async function resolveProject(deps: ProjectDeps, idOrPath: string, signal: AbortSignal): Promise<ProjectView> {
  const found = await findByIdOrPath(deps, idOrPath, signal);
  return typeof found === "string" ? makeProject(deps, { repo: found }, signal) : toView(found);
}

/** The same without making a row. @throws not-found, not-a-repository. */
export async function lookUpProject(deps: ProjectDeps, idOrPath: string, signal: AbortSignal): Promise<ProjectView> {
  const found = await findByIdOrPath(deps, idOrPath, signal);
  if (typeof found !== "string") return toView(found);
  throw new FactoryError("not-found", `no project at ${found}: \`harnais projects list\` shows them`, { field: "project" });
}

/** The row, or the checkout that has none. */
async function findByIdOrPath(deps: ProjectDeps, idOrPath: string, signal: AbortSignal): Promise<ProjectRow | string> {
  const row = SLUG.test(idOrPath) ? await findProject(deps.db, idOrPath) : undefined;
  if (row !== undefined) return row;
  if (!/[\\/]/.test(idOrPath))
    throw new FactoryError("not-found", `no project ${idOrPath}: \`harnais projects list\` shows them; a path makes one`, {
      field: "project",
    });
  const { checkout } = await findRepository(deps.git, idOrPath, signal);
  return (await findProjectByRepo(deps.db, checkout)) ?? checkout;
}

/** @throws not-found. */
export async function getProject(db: Db, id: string): Promise<ProjectView> {
  const row = await findProject(db, id);
  if (row === undefined) throw new FactoryError("not-found", `no project ${id}: \`harnais projects list\` shows them`);
  return toView(row);
}

/** The row with the commands that will run. */
export async function toView(row: ProjectRow): Promise<ProjectView> {
  const validationDetected = row.validation.length === 0;
  return { ...row, validation: validationDetected ? await detectValidation(row.repo) : row.validation, validationDetected };
}

/**
 * Makes a project's row. @throws conflict when the repository or the id has one already; not-a-repository, bad-ref,
 * bad-input.
 */
export async function addProject(deps: ProjectDeps, input: ProjectInput, signal: AbortSignal): Promise<ProjectView> {
  const { checkout } = await findRepository(deps.git, input.repo, signal);
  const known = await findProjectByRepo(deps.db, checkout);
  if (known !== undefined)
    throw new FactoryError(
      "conflict",
      `repo: ${checkout} is project ${known.id} already: change it with \`harnais projects set ${known.id} …\``,
      {
        field: "repo",
      },
    );
  return makeProject(deps, { ...input, repo: checkout }, signal);
}

async function makeProject({ db, git }: ProjectDeps, input: ProjectInput, signal: AbortSignal): Promise<ProjectView> {
  const { repo } = input;
  const baseBranch = input.baseBranch ?? (await readBaseBranch(git, repo, signal));
  if (input.baseBranch !== undefined) await checkBranch(git, { checkout: repo, branch: baseBranch }, signal);
  const name = input.name ?? basename(repo);
  const values = {
    name,
    repo,
    baseBranch,
    validation: input.validation ?? [],
    validationAttempts: input.validationAttempts ?? DEFAULT_VALIDATION_ATTEMPTS,
    agent: input.agent ?? DEFAULT_AGENT,
    model: input.model ?? null,
    scope: input.scope ?? null,
  };
  const ids = input.id === undefined ? toIds(name) : [input.id];
  for (const id of ids) {
    const made = await insertProject(db, { id, ...values });
    if (made !== undefined) return toView(made);
    // Somebody else may have made the same project at this moment: then it is that one.
    const known = await findProjectByRepo(db, repo);
    if (known !== undefined) return toView(known);
  }
  throw new FactoryError("conflict", `id: there is a project ${ids.at(-1)} already: choose another with --id`, { field: "id" });
}

const MAX_SAME_NAMES = 99;

/** A folder's name as slug, then with `-2`, `-3` … for further folders of that name. */
function toIds(name: string): string[] {
  const slug = toSlug(name);
  return Array.from({ length: MAX_SAME_NAMES }, (_, index) => (index === 0 ? slug : `${slug.slice(0, 59)}-${index + 1}`));
}

/** `Été & Fils` → `ete-fils`. */
export function toSlug(name: string): string {
  const ascii = name
    .normalize("NFD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  const slug = ascii
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63)
    .replace(/-+$/, "");
  return slug === "" ? "project" : slug;
}

/** Changes a project's row. @throws not-found, bad-ref, bad-input (no such branch). */
export async function changeProject(
  { db, git }: ProjectDeps,
  { id, change }: { readonly id: string; readonly change: ProjectChange },
  signal: AbortSignal,
): Promise<ProjectView> {
  const { repo } = await getProject(db, id);
  if (change.baseBranch !== undefined) await checkBranch(git, { checkout: repo, branch: change.baseBranch }, signal);
  const changed = await updateProject(db, id, change);
  if (changed === undefined) throw new FactoryError("not-found", `no project ${id}`);
  return toView(changed);
}

async function checkBranch(git: Git, where: { checkout: string; branch: string }, signal: AbortSignal): Promise<void> {
  parseRef(where.branch, "baseBranch");
  if ((await readBranch(git, where, signal)) === undefined)
    throw new FactoryError("bad-input", `baseBranch: ${where.checkout} has no branch ${where.branch}`, { field: "baseBranch" });
}
