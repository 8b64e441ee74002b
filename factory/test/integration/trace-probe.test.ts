import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { event, type ScriptedUpstream, startScriptedUpstream, startStream, textEvent } from "./support/scripted-upstream.ts";

// The probe in the real pi, against a provider whose answers are scripted: no factory, as a person would use it alone.

const PROBE = join(import.meta.dirname, "../../../probes/pi/harnais-trace.ts");
const PI = join(dirname(fileURLToPath(import.meta.resolve("@earendil-works/pi-coding-agent"))), "bundle", "cli.js");

interface Line {
  readonly type: string;
  readonly name: string;
  readonly payload: Record<string, unknown>;
}
interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let root: string;
let upstream: ScriptedUpstream;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "harnais-pi-")));
  for (const folder of ["agent", "project", "bin", "sessions"]) mkdirSync(join(root, folder));
  writeFileSync(join(root, "project", "README.md"), "# Sample\n");
});
afterEach(async () => {
  await upstream.stop();
  rmSync(root, { recursive: true, force: true });
});

const usage = (input: number, output: number): string =>
  event({ choices: [], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } });
const finish = (reason: string): string => event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const call = (index: number, name: string, args: object): string =>
  event({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: JSON.stringify(args) } }] },
        finish_reason: null,
      },
    ],
  });
const TEXT = [textEvent("done"), finish("stop"), usage(1400, 60), "data: [DONE]\n\n"];

async function startUpstream(answer: (n: number) => readonly string[] | null): Promise<void> {
  upstream = await startScriptedUpstream(({ response }, n) => {
    startStream(response);
    const parts = answer(n);
    if (parts === null) response.write(textEvent("and then"));
    else response.end(parts.join(""));
  });
  const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
  const provider = {
    baseUrl: upstream.baseUrl,
    api: "openai-completions",
    apiKey: "none",
    models: [{ id: "m", cost, contextWindow: 200_000, maxTokens: 8000 }],
  };
  writeFileSync(join(root, "agent", "models.json"), JSON.stringify({ providers: { wire: provider } }));
}

function startPi(
  sessionId: string,
  { env = {}, args = [] }: { env?: Record<string, string>; args?: readonly string[] } = {},
): { readonly ended: Promise<Ended>; kill(signal: NodeJS.Signals): void } {
  const options = [
    "-p",
    "-ne",
    "-e",
    PROBE,
    ...args,
    "--session-dir",
    join(root, "sessions"),
    "--session-id",
    sessionId,
    "--model",
    "wire/m",
    "look at it",
  ];
  const child = spawn(process.execPath, [PI, ...options], {
    cwd: join(root, "project"),
    env: {
      PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
      HOME: root,
      PI_CODING_AGENT_DIR: join(root, "agent"),
      PI_OFFLINE: "1",
      PI_TELEMETRY: "0",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  return {
    ended: once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr })),
    kill: (signal) => void child.kill(signal),
  };
}

const traceFile = (sessionId: string): string => join(root, "project", ".harnais-data", "traces", "harness", `${sessionId}.jsonl`);
const read = (sessionId: string): Line[] =>
  readFileSync(traceFile(sessionId), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

test("two processes of one session: every turn, tool and bill is there, in the project's own folder, and the sums are those of the wire", async () => {
  const tools = [
    textEvent("Look."),
    call(0, "read", { path: "README.md" }),
    call(1, "ls", { path: "." }),
    finish("tool_calls"),
    usage(1200, 50),
    "data: [DONE]\n\n",
  ];
  await startUpstream((n) => (n === 1 ? tools : TEXT));
  expect(await startPi("s1", { env: { HARNAIS_RUN_ID: "00000001", HARNAIS_ATTEMPT: "1" } }).ended).toMatchObject({
    code: 0,
    stdout: "done\n",
  });
  await startPi("s1", { env: { HARNAIS_RUN_ID: "00000001", HARNAIS_ATTEMPT: "2" } }).ended;
  const lines = read("s1");
  expect(lines.map((line) => line.type)).toEqual([
    ...["session_start", "prompt", "turn_start", "assistant", "tool_start", "tool_start", "tool_end", "tool_end", "turn_end"],
    ...["turn_start", "assistant", "turn_end", "agent_settled", "session_shutdown"],
    ...["session_start", "prompt", "turn_start", "assistant", "turn_end", "agent_settled", "session_shutdown"],
  ]);
  const bills = lines.filter((line) => line.type === "assistant").map((line) => line.payload);
  // 1200 × 3 + 50 × 15, 1400 × 3 + 60 × 15, per million.
  expect(bills.map((bill) => [bill["total_tokens"], bill["cost_usd"], bill["stop_reason"]])).toEqual([
    [1250, 0.00435, "toolUse"],
    [1460, 0.0051, "stop"],
    [1460, 0.0051, "stop"],
  ]);
  const starts = lines.filter((line) => line.type === "session_start").map((line) => line.payload);
  expect(starts.map((start) => start["attempt"])).toEqual([1, 2]);
  expect(starts[0]).toMatchObject({
    mode: "print",
    model: "wire/m",
    cwd: join(root, "project"),
    harness: "pi",
    harness_version: expect.stringMatching(/^\d+\.\d+/) as string,
  });
  expect(new Set(starts.map((start) => start["pid"])).size).toBe(2);
  expect(
    lines.filter((line) => line.type === "session_shutdown").map((line) => [line.payload["events"], line.payload["cost_usd"]]),
  ).toEqual([
    [14, 0.00945],
    [7, 0.0051],
  ]);
  expect(readFileSync(join(root, "project", ".harnais-data", ".gitignore"), "utf8")).toBe("*\n");
});

test("a stream that is ended by SIGTERM leaves a bill of unknown cost and a closed journal; by SIGKILL, all up to the freeze", async () => {
  await startUpstream(() => null);
  const terminated = startPi("s1", { env: { HARNAIS_RUN_ID: "00000001" } });
  await upstream.nth(1);
  terminated.kill("SIGTERM");
  expect((await terminated.ended).code).toBe(143);
  const lines = read("s1");
  expect(lines.find((line) => line.type === "assistant")?.payload).toMatchObject({
    stop_reason: "aborted",
    total_tokens: null,
    cost_usd: null,
  });
  expect(lines.at(-1)).toMatchObject({ type: "session_shutdown", payload: { cost_usd: null, cost_complete: false } });
  const killed = startPi("s2", { env: { HARNAIS_RUN_ID: "00000001" } });
  await upstream.nth(2);
  killed.kill("SIGKILL");
  await killed.ended;
  expect(read("s2").map((line) => line.type)).toEqual(["session_start", "prompt", "turn_start"]);
});

test("two copies of the probe in one pi write one trace; a folder that cannot be written costs the trace and one warning", async () => {
  await startUpstream(() => TEXT);
  const copy = join(root, "copy.ts");
  copyFileSync(PROBE, copy);
  await startPi("s1", { env: { HARNAIS_RUN_ID: "00000001" }, args: ["-e", copy] }).ended;
  expect(read("s1").map((line) => line.type)).toEqual([
    "session_start",
    "prompt",
    "turn_start",
    "assistant",
    "turn_end",
    "agent_settled",
    "session_shutdown",
  ]);
  const lost = await startPi("s2", { env: { HARNAIS_RUN_ID: "00000001", HARNAIS_TRACE_DIR: join(root, "project", "README.md") } }).ended;
  expect(lost).toMatchObject({ code: 0, stdout: "done\n" });
  expect(lost.stderr.match(/harnais-trace: a part of the trace is lost/g)).toHaveLength(1);
});

test("alone it starts `harnais trace ingest --quiet` at the end and does not wait; a missing command changes nothing", async () => {
  await startUpstream(() => TEXT);
  expect(await startPi("s1").ended).toMatchObject({ code: 0, stdout: "done\n" });
  const command = join(root, "bin", "harnais");
  writeFileSync(command, `#!/bin/sh\necho "$@" "$HARNAIS_DATA_DIR" > "${root}/asked.new" && mv "${root}/asked.new" "${root}/asked"\n`);
  chmodSync(command, 0o755);
  await startPi("s2").ended;
  await expect.poll(() => existsSync(join(root, "asked")), { timeout: 10_000 }).toBe(true);
  expect(readFileSync(join(root, "asked"), "utf8")).toBe(`trace ingest --quiet ${join(root, "project", ".harnais-data")}\n`);
});
