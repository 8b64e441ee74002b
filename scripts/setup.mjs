// Everything that `npm run demo`, `npm test` and `npm start` need, done once and quietly: npm packages, Node 24,
// the database snapshot. Runs on Node 18 and later with built-ins only; a second run takes milliseconds.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const NODE = join(ROOT, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
const STAMP = join(ROOT, "node_modules", ".harnais-setup");
const REQUIRED_MAJOR = 24;

/** Does what is missing; returns the path of a Node that is new enough. */
export async function setup() {
  const wanted = packagesHash();
  if (!existsSync(STAMP) || readFileSync(STAMP, "utf8") !== wanted) installPackages(wanted);
  const node = Number(process.versions.node.split(".")[0]) >= REQUIRED_MAJOR ? process.execPath : ensureNode();
  makeSnapshot(node);
  return node;
}

function packagesHash() {
  const hash = createHash("sha256");
  for (const file of ["package-lock.json", "package.json", "contracts/package.json", "factory/package.json", "probes/package.json"])
    hash.update(readFileSync(join(ROOT, file)));
  return hash.digest("hex");
}

function installPackages(hash) {
  if (existsSync(join(ROOT, "node_modules", ".package-lock.json"))) {
    const listed = spawnSync("npm", ["ls", "--all", "--silent"], { cwd: ROOT, stdio: "ignore" });
    if (listed.status === 0) return writeFileSync(STAMP, hash);
  }
  process.stderr.write("harnais: installing npm packages (once, about a minute)…\n");
  run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, hash);
}

/** The npm package `node` brings the binary by an install script; where scripts are off, take its platform package itself. */
function ensureNode() {
  if (!isUsable(NODE)) {
    const version = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).devDependencies.node;
    process.stderr.write(`harnais: installing Node ${version}…\n`);
    run("npm", ["rebuild", "node", "--loglevel=error"], { optional: true });
    if (!isUsable(NODE)) return installPlatformNode(version);
  }
  return NODE;
}

function installPlatformNode(version) {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const prefix = join(ROOT, "node_modules", ".harnais-node");
  const binary = join(prefix, "node_modules", name, "bin", "node");
  if (!isUsable(binary))
    run("npm", ["install", "--prefix", prefix, "--no-save", "--no-package-lock", "--loglevel=error", `${name}@${version}`]);
  if (!isUsable(binary))
    fail(`Node ${version} could not be installed for ${platform} ${process.arch}: install Node ${REQUIRED_MAJOR} or later yourself`);
  return binary;
}

function isUsable(node) {
  if (!existsSync(node)) return false;
  const result = spawnSync(node, ["--version"], { encoding: "utf8" });
  return result.status === 0 && Number(result.stdout.slice(1).split(".")[0]) >= REQUIRED_MAJOR;
}

/** The embedded database's first start costs seconds without it. Its key is the hash of the migrations. */
function makeSnapshot(node) {
  run(node, [join(ROOT, "factory", "src", "db", "make-snapshot.ts")]);
}

function run(file, args, { optional = false } = {}) {
  try {
    execFileSync(file, args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" });
  } catch (error) {
    if (!optional) fail(`\`${file} ${args.join(" ")}\` failed (${error.message.split("\n")[0]})`);
  }
}

function fail(message) {
  process.stderr.write(`harnais: set-up: ${message}\n`);
  process.exit(4);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await setup();
