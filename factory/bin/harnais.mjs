#!/usr/bin/env node
// Starts the command line with Node 24: this process's own, or the one that npm or the set-up installed. Runs on Node 18 and later.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module, { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cli = join(dirname(fileURLToPath(import.meta.url)), "..", "src", "cli.ts");
const root = join(dirname(cli), "..", "..");
const REQUIRED_MAJOR = 24;

if (Number(process.versions.node.split(".")[0]) >= REQUIRED_MAJOR) {
  // As lib/compile-cache.ts does, before the first of its modules is loaded.
  module.enableCompileCache(join(root, "node_modules", ".cache", "harnais"));
  await import(cli);
} else {
  const child = spawn(findNode(), [cli, ...process.argv.slice(2)], { stdio: "inherit" });
  // As scripts/with-node.mjs: the terminal sends Ctrl-C to the whole group, the child decides, we wait for it.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
  child.on("error", (error) => fail(`Node ${REQUIRED_MAJOR} could not be started (${error.message})`));
  child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
}

function findNode() {
  // Where npm runs no install scripts, scripts/setup.mjs brings the platform's package itself.
  const ofSetup = join(root, "node_modules", ".harnais-node", "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
  if (existsSync(ofSetup)) return ofSetup;
  try {
    return createRequire(import.meta.url).resolve("node/bin/node");
  } catch {
    return fail(
      `Node ${REQUIRED_MAJOR} or later is needed and the npm package \`node\` is not installed: run \`npm run setup\` in the clone`,
    );
  }
}

function fail(message) {
  console.error(`harnais: ${message}`);
  process.exit(4);
}
