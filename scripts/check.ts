import { spawnSync } from "node:child_process";

// `npm run check`: types, lint (with the boundary rules), format, unused code, copies, unit tests. `--fix` mends what can be mended.

const isFix = process.argv.includes("--fix");
const BIN = "node_modules/.bin";

const STEPS: readonly { readonly name: string; readonly args: readonly string[] }[] = [
  { name: "types", args: [`${BIN}/tsc`, "-p", "."] },
  { name: "lint", args: [`${BIN}/oxlint`, ...(isFix ? ["--fix"] : [])] },
  { name: "format", args: [`${BIN}/oxfmt`, ...(isFix ? ["."] : ["--check", "."])] },
  { name: "unused", args: [`${BIN}/knip`] },
  { name: "redaction copy", args: ["scripts/generate-redaction-copy.ts", ...(isFix ? [] : ["--check"])] },
  { name: "unit tests", args: [`${BIN}/vitest`, "run", "--project", "unit"] },
];

const failed: string[] = [];
for (const { name, args } of STEPS) {
  const startedAt = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  process.stdout.write(`${status === 0 ? "ok  " : "FAIL"} ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)\n`);
  if (status !== 0) failed.push(name);
}
if (failed.length > 0) process.stdout.write(`check failed: ${failed.join(", ")}\n`);
process.exit(failed.length === 0 ? 0 : 1);
