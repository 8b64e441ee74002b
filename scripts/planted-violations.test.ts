import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
/** What the linter says of each planted file. */
const said = new Map<string, string>();

const VIOLATIONS = [
  {
    rule: "SQL outside *.sql.ts, by the builder",
    file: "factory/src/runs/list.ts",
    source: `export const list = (db: { selectFrom(table: string): unknown }): unknown => db.selectFrom("runs");\n`,
    says: "SQL stands in",
    allowed: "factory/src/runs/list.sql.ts",
  },
  {
    rule: "SQL outside *.sql.ts, by the sql tag",
    file: "factory/src/runs/list.ts",
    source: `import { sql } from "kysely";\nexport const now = sql\`now()\`;\n`,
    says: "SQL stands in",
    allowed: "factory/src/runs/list.sql.ts",
  },
  {
    rule: "a database opened outside db/",
    file: "factory/src/runs/open.ts",
    source: `import { DatabaseSync } from "node:sqlite";\nexport const base = new DatabaseSync(":memory:");\n`,
    says: "Only db/ opens a database",
    allowed: "factory/src/db/open.ts",
  },
  {
    rule: "a process started outside launcher/",
    file: "factory/src/projects/start.ts",
    source: `import { spawn } from "node:child_process";\nexport const start = (): unknown => spawn("true");\n`,
    says: "Only launcher/ starts a process",
    allowed: "factory/src/launcher/start.ts",
  },
  {
    rule: "a process library imported outside launcher/",
    file: "factory/src/executor/start.ts",
    source: `import { execa } from "execa";\nexport const start = (): unknown => execa("true");\n`,
    says: "Only launcher/ starts a process",
    allowed: "factory/src/launcher/start.ts",
  },
  {
    rule: "the environment read outside config.ts",
    file: "factory/src/runs/read.ts",
    source: `export const home = process.env["HOME"];\n`,
    says: "process.env",
    allowed: "factory/src/config.ts",
  },
  {
    rule: "the environment imported outside config.ts",
    file: "factory/src/runs/read.ts",
    source: `import { env } from "node:process";\nexport const home = env["HOME"];\n`,
    says: "Only config.ts reads the environment",
    allowed: "factory/bench/read.ts",
  },
  {
    rule: "another slice's .sql.ts",
    file: "factory/src/intake/peek.ts",
    source: `import { getRun } from "../runs/run.sql.ts";\nexport const peek = getRun;\n`,
    says: "Another slice's",
    allowed: "factory/src/main.ts",
  },
  {
    rule: "another slice's .routes.ts, from a folder within a slice",
    file: "factory/src/llm-proxy/rehearsal/peek.ts",
    source: `import { runRoutes } from "../../runs/run.routes.ts";\nexport const peek = runRoutes;\n`,
    says: "Another slice's",
    allowed: "factory/src/main.ts",
  },
  {
    rule: "a model called outside ai/ and llm-proxy/",
    file: "factory/src/executor/call.ts",
    source: `import { request } from "undici";\nexport const call = request;\n`,
    says: "Only ai/ calls a model",
    allowed: "factory/src/llm-proxy/call.ts",
  },
];

const OWN_QUERY = { file: "factory/src/runs/own.ts", source: `import { getRun } from "./run.sql.ts";\nexport const own = getRun;\n` };

/** The same name in another place, so that one file of each violation can stand beside all others. */
const numbered = (file: string, index: number): string =>
  /(main|config)\.ts$/.test(file) ? file : file.replace(/(\.sql)?\.ts$/, (ending) => `-${index}${ending}`);

beforeAll(() => {
  const tree = mkdtempSync(join(tmpdir(), "harnais-lint-"));
  for (const file of ["oxlint.config.ts", "tsconfig.json", "scripts/boundaries.ts"]) cpSync(join(ROOT, file), join(tree, file));
  symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
  const planted = VIOLATIONS.flatMap(({ file, allowed, source }, index) => [
    { file: numbered(file, index), source },
    { file: numbered(allowed, index), source },
  ]);
  try {
    for (const { file, source } of [...planted, OWN_QUERY]) {
      mkdirSync(dirname(join(tree, file)), { recursive: true });
      // Two violations that are allowed in the same file stand in it one after the other.
      writeFileSync(join(tree, file), source.replaceAll(/export const (\w+)/g, `export const $1${said.size}`), { flag: "a" });
      said.set(file, "");
    }
    const { stdout } = spawnSync(process.execPath, [join(ROOT, "node_modules/.bin/oxlint"), "--format", "json", "factory"], {
      cwd: tree,
      encoding: "utf8",
    });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; message: string; help?: string }[] };
    for (const { filename, message, help } of diagnostics) said.set(filename, `${said.get(filename) ?? ""}${message} ${help ?? ""}\n`);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
});

test.each(VIOLATIONS.map((violation, index) => ({ ...violation, index })))(
  "$rule is a lint error, and none where its door is",
  ({ file, allowed, says, index }) => {
    expect(said.get(numbered(file, index))).toContain(says);
    expect(said.get(numbered(allowed, index))).not.toContain(says);
  },
);

test("a slice's own .sql.ts may be imported", () => {
  expect(said.get(OWN_QUERY.file)).not.toContain("Another slice's");
});
