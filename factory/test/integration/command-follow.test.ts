import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunReportSchema } from "@harnais/contracts/run-report.ts";
import { spawn } from "@lydell/node-pty";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { followRun } from "../../src/commands/follow-run.ts";
import { loadConfig } from "../../src/config.ts";
import { createApi, findServer } from "../../src/http/api-client.ts";
import { startInProcess } from "../../src/start-factory.ts";
import { CLI, runCommandLine, startCommand } from "./support/command-line.ts";
import { makeSampleRepository } from "./support/running-factory.ts";

const TOKEN = "token-of-this-test";
const RUN_ID = "deadbeef";
const HEALTH = { ok: true, version: "0.1.0", database: "embedded" };

let root: string;
let plume: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "harnais-follow-"));
  plume = makeSampleRepository(join(root, "plume"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface FakeServer extends Disposable {
  readonly url: string;
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[];
}

/** A program on the wire: `answer` is told the path and how many requests of that path there were before. */
async function serve(answer: (response: ServerResponse, path: string, count: number) => void): Promise<FakeServer> {
  const requests: { path: string; authorization: string | undefined }[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    const path = new URL(request.url ?? "", "http://x").pathname;
    const count = requests.filter((earlier) => earlier.path === path).length;
    requests.push({ path, authorization: request.headers.authorization });
    answer(response, path, count);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const toConfig = (url: string) => loadConfig({ cwd: root, env: { HARNAIS_URL: url, HARNAIS_TOKEN: TOKEN } });

async function connect(url: string) {
  const connection = await findServer(toConfig(url));
  if (connection === undefined) throw new Error("no server found");
  return createApi(connection);
}

const frame = (seq: number, type: string): string =>
  `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, runId: RUN_ID, phaseId: null, type, name: null, payload: {}, ts: "2026-01-01T00:00:00Z" })}\n\n`;

const REPORT = {
  ...{ runId: RUN_ID, workflow: "prompt", project: "p", status: "done", level: "none", rehearsal: true },
  ...{ costUsd: 0, costComplete: true, tokens: 0, startedAt: null, finishedAt: null, phases: [] },
};

describe("a server that is no Harnais gets no token", () => {
  test.each([
    ["another JSON", JSON.stringify({ status: "up" })],
    ["no JSON", "<html>hello</html>"],
    ["not ok", JSON.stringify({ ...HEALTH, ok: false })],
  ])("%s", async (_what, body) => {
    using server = await serve((response) => void response.end(body));
    await expect(findServer(toConfig(server.url))).rejects.toMatchObject({ code: "server-unreachable" });
    expect(server.requests).toEqual([{ path: "/health", authorization: undefined }]);
  });

  test("nor one that a redirection leads to", async () => {
    using other = await serve((response) => void response.end("{}"));
    using server = await serve((response, path) =>
      path === "/health"
        ? void response.end(JSON.stringify(HEALTH))
        : void response.writeHead(302, { location: `${other.url}/api/runs` }).end(),
    );
    await expect((await connect(server.url)).get("/api/runs", z.unknown())).rejects.toMatchObject({ code: "server-unreachable" });
    expect(other.requests).toEqual([]);
  });
});

describe("a connection that breaks", () => {
  test.each(["/api/events", "/api/runs"])("in the middle of %s is the server's absence", async (path) => {
    using server = await serve((response, asked) => {
      if (asked === "/health") return void response.end(JSON.stringify(HEALTH));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(frame(1, "run_start"), () => response.destroy());
    });
    const api = await connect(server.url);
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      if (path === "/api/runs") await api.get(path, z.unknown());
      else for await (const event of api.events({ run: RUN_ID }, new AbortController().signal)) seen.push(event);
    };
    await expect(read()).rejects.toMatchObject({ code: "server-unreachable", message: expect.stringContaining(server.url) });
  });

  test("is followed again for as long as events come", async () => {
    const breaks = 12;
    using server = await serve((response, path, count) => {
      if (path === "/health") return void response.end(JSON.stringify(HEALTH));
      // After the last event only the report is asked for: its first answer breaks off too.
      if (path !== "/api/events") return void (count === 0 ? response.destroy() : response.end(JSON.stringify(REPORT)));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(frame(count + 1, count < breaks ? "phase_start" : "run_finish"), () => count < breaks && response.destroy());
    });
    const followed = await followRun(await connect(server.url), RUN_ID, { onInterrupt: "leave" });
    expect(followed).toEqual({ report: REPORT, end: "finished" });
    expect(server.requests.filter(({ path }) => path === "/api/events")).toHaveLength(breaks + 1);
  });

  test("for good is given up, saying why", async () => {
    using server = await serve((response, path) => {
      if (path === "/health") response.end(JSON.stringify(HEALTH));
      else response.destroy();
    });
    const followed = followRun(await connect(server.url), RUN_ID, { onInterrupt: "leave" });
    await expect(followed).rejects.toMatchObject({
      code: "server-unreachable",
      message: expect.stringMatching(/gave up .*does not answer/),
    });
  });
});

/** A data folder where the sample project's workflow `name` is trusted, as a person does it. */
async function trust(name: string, source: string): Promise<Record<string, string>> {
  mkdirSync(join(plume, ".harnais", "workflows"), { recursive: true });
  writeFileSync(join(plume, ".harnais", "workflows", `${name}.ts`), source);
  const env = { HARNAIS_DATA_DIR: join(root, `data-${name}`) };
  const config = loadConfig({ cwd: root, env: { PATH: process.env["PATH"], ...env } });
  await using api = createApi(await startInProcess(config, { carriesOutRuns: false }));
  const { id } = await api.post("/api/projects", { repo: plume }, z.object({ id: z.string() }));
  await api.post(`/api/projects/${id}/trust`, { file: `${name}.ts` }, z.unknown());
  return env;
}

const QUESTION = `export default async (run) => { const said = await run.ask("Which colour?"); await run.code("paint", async () => ({ said })); };`;

/** `harnais <args>` on a terminal. */
function startAtTerminal(args: readonly string[], env: Readonly<Record<string, string>>) {
  const terminal = spawn(process.execPath, [CLI, ...args], {
    cwd: plume,
    cols: 200,
    env: { PATH: process.env["PATH"] ?? "", HOME: plume, ...env },
  });
  let output = "";
  terminal.onData((data) => (output += data));
  let isOver = false;
  onTestFinished(() => {
    if (!isOver) terminal.kill("SIGKILL");
  });
  const end = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  void end.then(() => (isOver = true));
  return { end, output: () => output, type: (text: string) => terminal.write(text) };
}

describe("a run that asks", () => {
  test("without a terminal is cancelled with the command that carries it out, and the report says so", async () => {
    const env = await trust("asks", QUESTION);
    const { exitCode, stdout, stderr } = await runCommandLine(["run", "asks", "x", "--json"], { cwd: plume, env });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("waits: Which colour?");
    expect(stderr).toMatch(/nobody to answer: run [0-9a-f]{8} is cancelled with this command/);
    expect(stderr).not.toContain("harnais answer");
    expect(RunReportSchema.parse(JSON.parse(stdout))).toMatchObject({ status: "cancelled" });
  });

  test("goes on with what is typed, is cancelled by Ctrl-C, and by Ctrl-D", async () => {
    const env = await trust("typed", QUESTION);
    const answered = startAtTerminal(["run", "typed", "x"], env);
    await expect.poll(answered.output, { timeout: 30_000 }).toContain("> ");
    answered.type("\rblue\r");
    expect(await answered.end).toBe(0);
    for (const [key, exitCode] of [
      ["\u0003", 130],
      ["\u0004", 1],
    ] as const) {
      const left = startAtTerminal(["run", "typed", "x"], env);
      await expect.poll(left.output, { timeout: 30_000 }).toContain("> ");
      left.type(key);
      expect(await left.end).toBe(exitCode);
      expect(left.output()).toContain("cancelled");
    }
  });

  test("and is ended elsewhere frees the terminal", async () => {
    const env = await trust("elsewhere", QUESTION);
    const server = startCommand(["serve", "--port", "0"], { cwd: plume, env });
    onTestFinished(() => void server.child.kill("SIGKILL"));
    await expect.poll(server.stderr, { timeout: 30_000 }).toContain("harnais serves at");
    const asked = startAtTerminal(["run", "elsewhere", "x"], env);
    await expect.poll(asked.output, { timeout: 30_000 }).toContain("> ");
    const runId = /\[([0-9a-f]{8})\]/.exec(asked.output())?.[1] ?? "";
    expect((await runCommandLine(["cancel", runId, "--reason", "by somebody else"], { cwd: plume, env })).exitCode).toBe(0);
    expect(await asked.end).toBe(1);
    expect(asked.output()).toContain("cancelled: by somebody else");
    const unheard = await runCommandLine(["run", "elsewhere", "x"], { cwd: plume, env });
    expect(unheard.stderr).toMatch(/answer with: harnais answer [0-9a-f]{8} "<text>"/);
    expect(unheard.exitCode).toBe(1);
    server.child.kill("SIGTERM");
    expect((await server.end).exitCode).toBe(0);
  });
});

test.each([
  ["throws", `setTimeout(() => { throw new Error("thrown by nobody"); }, 1);`],
  ["rejects", `void Promise.reject(new Error("thrown by nobody"));`],
])("an error outside everything that waits ends the command: %s", async (name, stray) => {
  const env = await trust(name, `export default async () => { ${stray} await new Promise(() => {}); };`);
  const { exitCode, stderr } = await runCommandLine(["run", name, "x"], { cwd: plume, env });
  expect([exitCode, stderr.includes("harnais: thrown by nobody")]).toEqual([1, true]);
});
