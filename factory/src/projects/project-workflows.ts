import { createHash } from "node:crypto";
import { lstat, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { randomHex } from "@harnais/contracts/ids.ts";
import { z } from "zod";
import type { Db } from "../db/tables.ts";
import { FactoryError, messageOf } from "../lib/errors.ts";
import { addTrusted, readTrusted } from "./project.sql.ts";

/** Where a project keeps its own workflows, from the top of its repository. */
export const WORKFLOWS_FOLDER = ".harnais/workflows";

/** A trusted workflow file, imported from the factory's own copy. */
export interface LoadedWorkflow {
  /** The file's default export, unchecked. */
  readonly exported: unknown;
  /** sha256 of the file, hex. */
  readonly sha: string;
}

export interface WorkflowDeps {
  readonly db: Db;
  readonly dataDir: string;
}

interface ProjectFolder {
  readonly id: string;
  readonly repo: string;
}

const EXTENSIONS = [".ts", ".mts"];
const FILE_NAME = /^[A-Za-z0-9][\w.-]{0,99}$/;
const MAX_FILE_BYTES = 1024 * 1024;
const TrustedSchema = z.record(z.string(), z.string());

/**
 * The project's own workflow `name`; undefined when it has no such file. What is imported is a copy of exactly the
 * content that was trusted.
 * @throws untrusted-workflow, naming the command that trusts it; bad-workflow when it cannot be read or imported.
 */
export async function loadProjectWorkflow(deps: WorkflowDeps, project: ProjectFolder, name: string): Promise<LoadedWorkflow | undefined> {
  const file = await findWorkflowFile(project.repo, name);
  if (file === undefined) return undefined;
  const content = await readWorkflowFile(project.repo, file);
  const sha = toSha256(content);
  const trusted = TrustedSchema.safeParse(await readTrusted(deps.db, project.id));
  const known = trusted.success ? trusted.data[file] : undefined;
  if (known !== sha) throw untrusted(project, { file, sha, isChanged: known !== undefined });
  const copy = await keepCopy(deps.dataDir, { content, sha });
  return { exported: await importDefault(copy, file), sha };
}

function untrusted(project: ProjectFolder, { file, sha, isChanged }: { file: string; sha: string; isChanged: boolean }): FactoryError {
  const why = isChanged ? "has changed since it was trusted" : "is not trusted";
  return new FactoryError(
    "untrusted-workflow",
    `${file} of project ${project.id} ${why} (sha256 ${sha.slice(0, 12)}): read it, then run \`harnais projects trust ${project.id} ${file}\``,
  );
}

/** `.harnais/workflows/<name>.ts` or `.mts`. @throws bad-workflow when both are there. */
async function findWorkflowFile(repo: string, name: string): Promise<string | undefined> {
  if (!FILE_NAME.test(name)) return undefined;
  const files = (await listProjectWorkflows(repo)).filter((file) => toStem(file) === name);
  if (files.length > 1) throw new FactoryError("bad-workflow", `workflow ${name} has two files, ${files.join(" and ")}: remove one`);
  return files[0];
}

/** The project's workflow files, as paths from the top of the repository, sorted. */
export async function listProjectWorkflows(repo: string): Promise<string[]> {
  const names = await readdir(join(repo, WORKFLOWS_FOLDER)).catch(() => []);
  const files = names.filter((name) => FILE_NAME.test(name) && EXTENSIONS.some((extension) => name.endsWith(extension)));
  return files
    .filter((name) => !/\.(?:d|test)\.m?ts$/.test(name))
    .map((name) => `${WORKFLOWS_FOLDER}/${name}`)
    .sort();
}

/** A workflow's name: its file's name without ending. */
export const toStem = (file: string): string => basename(file).replace(/\.m?ts$/, "");

/**
 * Trusts the present content of a workflow file; `file` is its path from the top of the repository, or its name. The
 * caller has made sure that a person asks. Returns what is trusted now.
 * @throws not-found, bad-input, bad-workflow.
 */
export async function trustWorkflow(
  deps: WorkflowDeps,
  project: ProjectFolder,
  file: string,
): Promise<{ readonly file: string; readonly sha256: string }> {
  const present = await listProjectWorkflows(project.repo);
  const wanted = present.find((path) => path === file || join(project.repo, path) === file || basename(path) === file);
  if (wanted === undefined) {
    const known = present.length === 0 ? `${WORKFLOWS_FOLDER} holds none` : `there are ${present.join(", ")}`;
    throw new FactoryError("not-found", `file: ${file} is no workflow file of project ${project.id}: ${known}`, { field: "file" });
  }
  const sha256 = toSha256(await readWorkflowFile(project.repo, wanted));
  if (!(await addTrusted(deps.db, project.id, { file: wanted, sha256 })))
    throw new FactoryError("not-found", `no project ${project.id}: \`harnais projects list\` shows them`);
  return { file: wanted, sha256 };
}

async function readWorkflowFile(repo: string, file: string): Promise<Buffer> {
  const path = join(repo, file);
  const info = await lstat(path).catch(() => undefined);
  if (info?.isFile() !== true) throw new FactoryError("bad-workflow", `${file} is not a regular file: no link, no folder`);
  if (info.size > MAX_FILE_BYTES) throw new FactoryError("bad-workflow", `${file} is larger than ${MAX_FILE_BYTES} bytes`);
  return readFile(path);
}

const toSha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

/** `<data>/workflows/<sha256>.mts`; a copy that was touched is written anew. */
async function keepCopy(dataDir: string, { content, sha }: { content: Buffer; sha: string }): Promise<string> {
  const folder = join(dataDir, "workflows");
  const copy = join(folder, `${sha}.mts`);
  const kept = await readFile(copy).catch(() => undefined);
  if (kept !== undefined && toSha256(kept) === sha) return copy;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = `${copy}.${randomHex(4)}.tmp`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, copy);
  return copy;
}

async function importDefault(copy: string, file: string): Promise<unknown> {
  try {
    const module: unknown = await import(pathToFileURL(copy).href);
    return typeof module === "object" && module !== null && "default" in module ? module.default : undefined;
  } catch (error) {
    throw new FactoryError("bad-workflow", `${file} cannot be imported: ${messageOf(error)}`, { cause: error });
  }
}
