#!/usr/bin/env node
// Starts the command line with Node 24: this process's own, or the one that npm installed. Runs on Node 18 and later.
import { spawnSync } from "node:child_process";
import module, { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cli = join(dirname(fileURLToPath(import.meta.url)), "..", "src", "cli.ts");
const REQUIRED_MAJOR = 24;

if (Number(process.versions.node.split(".")[0]) >= REQUIRED_MAJOR) {
  // As lib/compile-cache.ts does, before the first of its modules is loaded.
  module.enableCompileCache(join(dirname(cli), "..", "..", "node_modules", ".cache", "harnais"));
  await import(cli);
} else {
  const result = spawnSync(findNode(), [cli, ...process.argv.slice(2)], { stdio: "inherit" });
  process.exit(result.signal === "SIGINT" ? 130 : (result.status ?? 1));
}

function findNode() {
  try {
    return createRequire(import.meta.url).resolve("node/bin/node");
  } catch {
    console.error("harnais: Node 24 or later is needed and the npm package `node` is not installed: run `npm install` in the clone.");
    process.exit(4);
  }
}
