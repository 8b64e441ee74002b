import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

const BIN = join(import.meta.dirname, "../../bin/harnais.mjs");
const OLD_NODE = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"18.0.0"}})';
// Says where it is, and ends in its own time.
const CLI = `
  process.stdout.write("ready " + process.argv.slice(2).join(" ") + "\\n");
  const wait = setInterval(() => undefined, 1000);
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => setTimeout(() => {
    process.stdout.write("ended by " + signal + "\\n");
    clearInterval(wait);
    process.exitCode = signal === "SIGINT" ? 130 : 7;
  }, 300));`;

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "harnais-bin-"));
  mkdirSync(join(root, "factory", "src"), { recursive: true });
  mkdirSync(join(root, "factory", "bin"));
  cpSync(BIN, join(root, "factory", "bin", "harnais.mjs"));
  writeFileSync(join(root, "factory", "src", "cli.ts"), CLI);
  writeFileSync(join(root, "package.json"), '{"type":"module"}');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The start script on an older Node, as leader of a group, as a shell starts it. */
function start(...args: string[]) {
  const child = spawn(process.execPath, ["--import", OLD_NODE, join(root, "factory", "bin", "harnais.mjs"), ...args], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const end = once(child, "close").then(([code]) => code as number | null);
  const kill = (signal: NodeJS.Signals, whom: "group" | "script"): void =>
    void process.kill(whom === "group" ? -(child.pid ?? 0) : (child.pid ?? 0), signal);
  onTestFinished(() => void (child.exitCode === null && child.signalCode === null && kill("SIGKILL", "group")));
  return { end, kill, output: () => output };
}

function installNode(...path: string[]): void {
  const file = join(root, "node_modules", ...path);
  mkdirSync(dirname(file), { recursive: true });
  symlinkSync(process.execPath, file);
  onTestFinished(() => rmSync(join(root, "node_modules"), { recursive: true }));
}

test("without a Node that is new enough the start says what brings one", async () => {
  const { end, output } = start("runs");
  expect(await end).toBe(4);
  expect(output()).toContain("npm run setup");
});

test.each([
  ["npm's", ["node", "bin", "node"]],
  ["the set-up's", [".harnais-node", "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node"]],
])("an older Node starts %s, and Ctrl-C waits for its end", async (_whose, path) => {
  installNode(...path);
  const { end, kill, output } = start("runs", "--json");
  await expect.poll(output).toContain("ready runs --json");
  kill("SIGINT", "group");
  expect(await end).toBe(130);
  expect(output()).toContain("ended by SIGINT");
});

test("a signal to the start script alone is passed on", async () => {
  installNode("node", "bin", "node");
  const { end, kill, output } = start();
  await expect.poll(output).toContain("ready");
  kill("SIGTERM", "script");
  expect(await end).toBe(7);
  expect(output()).toContain("ended by SIGTERM");
});
