import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "@harnais/contracts/json.ts";
import { z } from "zod";

/**
 * The validation commands that a repository's own files name: npm scripts (typecheck, lint, test), else a Makefile's
 * `test`, else pytest, cargo or go. Empty when nothing is recognised. Reads files only; never throws.
 */
export async function detectValidation(repoDir: string): Promise<string[]> {
  for (const detect of [detectNode, detectMake, detectPython, detectCargo, detectGo]) {
    const commands = await detect(repoDir);
    if (commands.length > 0) return commands;
  }
  return [];
}

const Scripts = z.object({ scripts: z.record(z.string(), z.unknown()) });
/** Cheap ones first: the first red one stops the validation. */
const SCRIPT_NAMES = [["typecheck", "type-check"], ["lint"], ["test"]];
const RUNNERS: readonly (readonly [lockFile: string, runner: string])[] = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
];

async function detectNode(repoDir: string): Promise<string[]> {
  const parsed = Scripts.safeParse(parseJson((await read(repoDir, "package.json")) ?? ""));
  if (!parsed.success) return [];
  const { scripts } = parsed.data;
  const runner = await findRunner(repoDir);
  return SCRIPT_NAMES.flatMap((names) => {
    const name = names.find((candidate) => isRealScript(scripts[candidate]));
    if (name === undefined) return [];
    return name === "test" && runner !== "bun" ? [`${runner} test`] : [`${runner} run ${name}`];
  });
}

/** `npm init` writes a test script that only fails. */
const isRealScript = (script: unknown): boolean =>
  typeof script === "string" && script.trim() !== "" && !script.includes("no test specified");

async function findRunner(repoDir: string): Promise<string> {
  for (const [lockFile, runner] of RUNNERS) if ((await read(repoDir, lockFile)) !== undefined) return runner;
  return "npm";
}

async function detectMake(repoDir: string): Promise<string[]> {
  return /^test\s*:(?!=)/m.test((await read(repoDir, "Makefile")) ?? "") ? ["make test"] : [];
}

async function detectPython(repoDir: string): Promise<string[]> {
  const [project, setup, ini] = await Promise.all(["pyproject.toml", "setup.cfg", "pytest.ini"].map((file) => read(repoDir, file)));
  const isPytest = ini !== undefined || /^\[tool\.pytest|["']pytest\b/m.test(project ?? "") || /^\[tool:pytest\]/m.test(setup ?? "");
  return isPytest ? ["python3 -m pytest -q"] : [];
}

const detectCargo = async (repoDir: string): Promise<string[]> =>
  (await read(repoDir, "Cargo.toml")) === undefined ? [] : ["cargo test --quiet"];

const detectGo = async (repoDir: string): Promise<string[]> => ((await read(repoDir, "go.mod")) === undefined ? [] : ["go test ./..."]);

const read = (repoDir: string, file: string): Promise<string | undefined> => readFile(join(repoDir, file), "utf8").catch(() => undefined);
