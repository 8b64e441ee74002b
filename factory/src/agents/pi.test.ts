import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { AgentTask } from "./agent-adapter.ts";
import { locatePi } from "./locate-pi.ts";
import { createPi } from "./pi.ts";

const folder = mkdtempSync(join(tmpdir(), "harnais-pi-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pi = createPi({ piPath: undefined, searchPath: "", probeFile: "/opt/harnais/probe.ts" });
const program = { command: { file: "/node", args: ["/pi/cli.js"] }, version: "1.6.0" };
const task: AgentTask = {
  sessionId: "3f2a9c7e-1d1f-4b56-9a9e-0d2a4e7b8c11",
  isNewSession: true,
  mode: "explore",
  model: { provider: "openrouter", model: "z-ai/glm-5.3:free" },
  price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 },
  contextWindow: 200_000,
  maxOutputTokens: 32_768,
  proxyBaseUrl: "http://127.0.0.1:4600/v1/phase/agent",
  proxyTokenEnv: "HARNAIS_PROXY_TOKEN",
  cwd: "/work",
  homeDir: join(folder, "home"),
  idleMs: 300_000,
};
const readFile = (files: Readonly<Record<string, string>>, name: string): unknown =>
  JSON.parse(files[join(task.homeDir, ".pi", "agent", name)] ?? "null");

test("pi is started by our Node with its own folders, the probe by name, and nothing of the checkout", () => {
  const { command, env } = pi.toLaunch(task, program);
  expect(command).toEqual({
    file: "/node",
    args: [
      ...[
        "/pi/cli.js",
        "--mode",
        "json",
        "-p",
        "-e",
        "/opt/harnais/probe.ts",
        "-na",
        "-ne",
        "-ns",
        "-np",
        "--no-themes",
        "--no-mcp",
        "--offline",
      ],
      ...["--session-dir", join(task.homeDir, "sessions"), "--session-id", task.sessionId, "--model", "openrouter/z-ai/glm-5.3:free"],
      ...["--tools", "read,ls"],
    ],
  });
  expect(env).toEqual({
    HOME: task.homeDir,
    PI_CODING_AGENT_DIR: join(task.homeDir, ".pi", "agent"),
    PI_OFFLINE: "1",
    PI_TELEMETRY: "0",
    PI_SKIP_VERSION_CHECK: "1",
  });
});

test("a session that exists is opened, never made", () => {
  const { args } = pi.toLaunch({ ...task, isNewSession: false }, program).command;
  expect(args).not.toContain("--session-id");
  expect(args[args.indexOf("--session") + 1]).toBe(task.sessionId);
});

test("models.json: the provider under its real name, our price, the token by reference", () => {
  expect(readFile(pi.toLaunch(task, program).files, "models.json")).toEqual({
    providers: {
      openrouter: {
        baseUrl: task.proxyBaseUrl,
        api: "openai-completions",
        apiKey: "$HARNAIS_PROXY_TOKEN",
        models: [
          {
            id: "z-ai/glm-5.3:free",
            cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
            contextWindow: 200_000,
            maxTokens: 32_768,
          },
        ],
      },
    },
  });
  expect(readFile(pi.toLaunch(task, program).files, "settings.json")).toMatchObject({
    defaultProjectTrust: "never",
    httpIdleTimeoutMs: 300_000,
    retry: { maxRetries: 1, provider: { maxRetries: 0 } },
  });
});

test("a model without a price and one that is free are told apart for the probe", () => {
  const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
  expect(pi.toLaunch({ ...task, price: null }, program).env["HARNAIS_PRICE"]).toBe("unpriced");
  expect(pi.toLaunch({ ...task, price: zero }, program).env["HARNAIS_PRICE"]).toBe("free");
});

test.each([
  [{ mode: "explore" as const, tools: { allow: ["read", "bash", "write"] } }, ["--tools", "read"]],
  [{ mode: "code" as const }, ["--tools", "read,bash,edit,write,ls"]],
  [{ mode: "code" as const, tools: { deny: ["bash", "find"] } }, ["--tools", "read,edit,write,ls"]],
  [{ mode: "explore" as const, tools: { allow: ["bash"] } }, ["--no-tools"]],
])("tools of %j are %j", (change, expected) => {
  const { args } = pi.toLaunch({ ...task, ...change }, program).command;
  expect(args.slice(-expected.length)).toEqual(expected);
});

test("the system prompt goes by file", () => {
  const { command, files } = pi.toLaunch({ ...task, systemPrompt: "Be\nbrief." }, program);
  const file = command.args.at(-1) ?? "";
  expect(command.args.at(-2)).toBe("--append-system-prompt");
  expect(files[file]).toBe("Be\nbrief.");
});

test("a session is there when its file holds a user message", () => {
  const sessions = join(task.homeDir, "sessions");
  expect(pi.hasSession(task)).toBe(false);
  mkdirSync(sessions, { recursive: true });
  const file = join(sessions, `2026-11-29T17-20-26-431Z_${task.sessionId}.jsonl`);
  writeFileSync(file, '{"type":"session"}\n');
  expect(pi.hasSession(task)).toBe(false);
  writeFileSync(file, '{"type":"session"}\n{"type":"message","message":{"role":"user","content":"hi"}}\n');
  expect(pi.hasSession(task)).toBe(true);
  expect(pi.hasSession({ ...task, sessionId: "another" })).toBe(false);
});

test("pi is found: named, installed, on the PATH; missing: with the mend", () => {
  const script = join(folder, "my-pi.mjs");
  writeFileSync(script, "", { mode: 0o755 });
  expect(locatePi({ piPath: script, searchPath: "" })).toEqual({ command: { file: process.execPath, args: [script] }, version: "unknown" });
  const binary = join(folder, "my-pi");
  writeFileSync(binary, "#!/bin/sh\n", { mode: 0o755 });
  expect(locatePi({ piPath: binary, searchPath: "" }).command).toEqual({ file: binary, args: [] });
  const installed = locatePi({ piPath: undefined, searchPath: "" });
  expect(installed.command.file).toBe(process.execPath);
  expect(installed.command.args[0]).toMatch(/pi-coding-agent\/dist\/bundle\/cli\.js$/);
  expect(pi.testedVersions).toContain(installed.version.split(".").slice(0, 2).join("."));
  expect(() => locatePi({ piPath: join(folder, "none"), searchPath: "" })).toThrow(
    expect.objectContaining({ code: "part-missing", message: expect.stringContaining("HARNAIS_PI") }),
  );
});

test("a link to a script of the package has the package's version", () => {
  const link = join(folder, "linked.js");
  symlinkSync(locatePi({ piPath: undefined, searchPath: "" }).command.args[0] ?? "", link);
  expect(locatePi({ piPath: link, searchPath: "" }).version).toMatch(/^1\./);
});
