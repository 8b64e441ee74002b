// Starts `node <file> <args>` with Node 24, after doing all set-up. Runs on Node 18 and later, built-ins only.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { setup } from "./setup.mjs";

const [file, ...args] = process.argv.slice(2);
const node = await setup();
const child = spawn(node, [file, ...args], { stdio: "inherit" });
// The terminal sends Ctrl-C to the whole group: the child decides, we wait for it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
