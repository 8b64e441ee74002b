import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { detectValidation } from "./detect-validation.ts";

async function detect(files: Readonly<Record<string, string>>): Promise<string[]> {
  const dir = await mkdtemp(join(tmpdir(), "harnais-detect-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(dir, name), content);
  return detectValidation(dir);
}

test.each<[string, Record<string, string>, string[]]>([
  [
    "npm scripts, cheap ones first",
    { "package.json": '{"scripts":{"test":"x","lint":"y","typecheck":"z","build":"b"}}' },
    ["npm run typecheck", "npm run lint", "npm test"],
  ],
  [
    "the runner of the lock file",
    { "package.json": '{"scripts":{"test":"x","type-check":"z"}}', "pnpm-lock.yaml": "" },
    ["pnpm run type-check", "pnpm test"],
  ],
  ["bun's own `bun test` is not the script", { "package.json": '{"scripts":{"test":"x"}}', "bun.lock": "" }, ["bun run test"]],
  [
    "npm init's failing test is none, so the Makefile counts",
    { "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}', Makefile: "all:\n\ntest: all\n\techo\n" },
    ["make test"],
  ],
  ["a variable is no target", { Makefile: "test := 1\n" }, []],
  ["pytest", { "pyproject.toml": "[tool.pytest.ini_options]\n" }, ["python3 -m pytest -q"]],
  ["cargo", { "Cargo.toml": "" }, ["cargo test --quiet"]],
  ["go", { "go.mod": "module x" }, ["go test ./..."]],
  ["a torn package.json", { "package.json": '{"scripts":{"test":' }, []],
  ["hostile scripts", { "package.json": '{"scripts":{"test":5,"__proto__":{"lint":"x"},"lint":null}}' }, []],
  ["nothing", {}, []],
])("%s", async (_title, files, commands) => {
  expect(await detect(files)).toEqual(commands);
});
