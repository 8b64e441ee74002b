import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pino } from "pino";
import { z } from "zod";
import { loadConfig } from "../src/config.ts";
import { createApi, findServer } from "../src/http/api-client.ts";
import { createRehearsalServer } from "../src/llm-proxy/rehearsal/rehearsal-server.ts";
import { createScenarioBook } from "../src/llm-proxy/rehearsal/scenario-book.ts";

// `npm run bench:run`: what the factory adds to an agent. One `prompt` run on a warm server, and the same bare `pi -p`
// with the same model, in turn; the median of the paired differences counts, machines are noisy.

const { values } = parseArgs({ options: { rounds: { type: "string", default: "10" }, "warm-up": { type: "string", default: "1" } } });
const ROUNDS = Number(values.rounds);
const WARM_UP = Number(values["warm-up"]);
const ROOT = join(import.meta.dirname, "..", "..");
const PI = join(ROOT, "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js");
const INPUT = "What is this project?";
const SYSTEM = "harnais phase: prompt";
const READ_TOOLS = "read,grep,find,ls";

const root = mkdtempSync(join(tmpdir(), "harnais-bench-"));
const plume = join(root, "plume");
cpSync(join(ROOT, "factory", "sample-project"), plume, { recursive: true });
for (const args of [
  ["init", "-q", "-b", "main"],
  ["add", "-A"],
  ["-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-qm", "x"],
]) {
  execFileSync("git", args, { cwd: plume });
}

const server = await startServer();
const bare = await prepareBarePi();
try {
  const differences: number[] = [];
  const runs: number[] = [];
  const bares: number[] = [];
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    // The order alternates, so that neither always runs after the other.
    const isRunFirst = round % 2 === 0;
    const first = isRunFirst ? await server.run() : await bare.run();
    const second = isRunFirst ? await bare.run() : await server.run();
    const [runMs, bareMs] = isRunFirst ? [first, second] : [second, first];
    if (round < 0) continue;
    runs.push(runMs);
    bares.push(bareMs);
    differences.push(runMs - bareMs);
  }
  const starts = server.startDelays().slice(-ROUNDS);
  report({ runs, bares, differences, starts });
} finally {
  await server.stop();
  await bare.stop();
  rmSync(root, { recursive: true, force: true });
}

async function startServer() {
  const dataDir = join(root, "data");
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, HARNAIS_DATA_DIR: dataDir, HARNAIS_LOG_LEVEL: "info" };
  const child = spawn(process.execPath, [join(ROOT, "factory/src/cli.ts"), "serve", "--port", "0"], {
    cwd: root,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  const config = loadConfig({ env, cwd: root });
  const connection = await waitFor(() => findServer(config));
  const api = createApi(connection);
  const queuedAt = new Map<string, number>();
  return {
    /** From the request to its run's end, as a client sees it. */
    async run(): Promise<number> {
      const startedAt = performance.now();
      const { runId } = await api.post("/api/runs", { workflow: "prompt", input: INPUT, project: plume }, z.object({ runId: z.string() }));
      const stop = new AbortController();
      for await (const frame of api.events({ run: runId, after: 0 }, stop.signal)) {
        if (frame.type === "run_queued") queuedAt.set(runId, Date.parse(frame.ts));
        if (frame.type !== "run_finish") continue;
        if (frame.payload["ok"] !== true) throw new Error(`run ${runId} failed: ${JSON.stringify(frame.payload)}`);
        stop.abort();
      }
      return performance.now() - startedAt;
    },
    /** From the request stored to the agent's process started, per run. */
    startDelays(): number[] {
      const started = [...log.matchAll(/^(\{.*"agent started".*\})$/gm)].map(
        ([, line]) => JSON.parse(line ?? "{}") as { time: number; runId: string },
      );
      return started.map(({ time, runId }) => time - (queuedAt.get(runId) ?? Number.NaN));
    },
    async stop(): Promise<void> {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}

async function waitFor<Value>(find: () => Promise<Value | undefined>): Promise<Value> {
  for (let tries = 0; tries < 600; tries++) {
    const found = await find();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the server did not start within a minute");
}

/** pi alone, with the same rehearsal model behind no proxy, the same tools and the same words. */
async function prepareBarePi() {
  const agentDir = join(root, "pi");
  mkdirSync(agentDir);
  const scenarios = createScenarioBook([join(ROOT, "factory", "scenarios")]);
  const rehearsal = createRehearsalServer({ scenarios, logFile: join(root, "rehearsal.jsonl"), log: pino({ level: "silent" }) });
  const model = { id: "demo", cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }, contextWindow: 200_000, maxTokens: 32_768 };
  const provider = { baseUrl: await rehearsal.start(), api: "openai-completions", apiKey: "none", models: [model] };
  writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { rehearsal: provider } }));
  const nullDevice = openSync("/dev/null", "r");
  const args = [
    "-p",
    "-na",
    "-ne",
    "-ns",
    "-np",
    "--no-themes",
    "--no-mcp",
    "--offline",
    "--model",
    "rehearsal/demo",
    "--tools",
    READ_TOOLS,
    "--append-system-prompt",
    SYSTEM,
    INPUT,
  ];
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: root,
    PI_CODING_AGENT_DIR: agentDir,
    PI_OFFLINE: "1",
    PI_TELEMETRY: "0",
    PI_SKIP_VERSION_CHECK: "1",
  };
  return {
    async run(): Promise<number> {
      const startedAt = performance.now();
      const child = spawn(process.execPath, [PI, ...args], { cwd: plume, env, stdio: [nullDevice, "ignore", "inherit"] });
      const [code] = (await once(child, "exit")) as [number | null];
      if (code !== 0) throw new Error(`bare pi ended with ${code}`);
      return performance.now() - startedAt;
    },
    stop: () => rehearsal.stop(),
  };
}

function report({ runs, bares, differences, starts }: Record<"runs" | "bares" | "differences" | "starts", readonly number[]>): void {
  const row = (what: string, figures: readonly number[]): string => {
    const sorted = figures.toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(0);
    return `| ${what} | ${at(0.5)} | ${at(0)} | ${at(1)} |`;
  };
  const lines = [
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.versions.node}, ${runs.length} paired rounds`,
    "",
    "| ms | median | min | max |",
    "|---|---|---|---|",
    row("`prompt` run on a warm server, request to end", runs),
    row("bare `pi -p`, same model, tools and words", bares),
    row("difference, paired (aim ≤ 500)", differences),
    row("request stored → agent's process started (aim ≤ 150)", starts),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}
