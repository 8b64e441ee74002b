import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// `npm test`: unit and integration tests, then which system parts were not there, then the one line of figures.

interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

const folder = mkdtempSync(join(tmpdir(), "harnais-results-"));
const file = join(folder, "results.json");
const args = [
  "node_modules/.bin/vitest",
  "run",
  "--reporter=default",
  "--reporter=json",
  `--outputFile.json=${file}`,
  ...process.argv.slice(2),
];
const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });

const results = readResults();
rmSync(folder, { recursive: true, force: true });
if (process.env["HARNAIS_TEST_DATABASE_URL"] === undefined) {
  process.stdout.write("not tested here: PostgreSQL server (set HARNAIS_TEST_DATABASE_URL to one where databases may be made)\n");
}
if (results === undefined) {
  process.stdout.write("0 passed, 1 failed, 0 skipped\n");
} else {
  // A file that could not even be loaded has no failed test of its own.
  const failed = Math.max(results.numFailedTests, status === 0 ? 0 : 1);
  process.stdout.write(`${results.numPassedTests} passed, ${failed} failed, ${results.numPendingTests} skipped\n`);
}
process.exit(status ?? 1);

function readResults(): Results | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Results;
  } catch {
    return undefined;
  }
}
