import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunReport, RunReportSchema } from "@harnais/contracts/run-report.ts";
import { isFinalRunStatus } from "@harnais/contracts/statuses.ts";
import { expect } from "vitest";
import { z } from "zod";
import { type Config, loadConfig } from "../../../src/config.ts";
import { type Api, createApi } from "../../../src/http/api-client.ts";
import { startInProcess } from "../../../src/start-factory.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const RUN_TIMEOUT_MS = 90_000;

/** The whole factory in this process (its application, worker, proxy, rehearsal model), with the sample project. */
export interface RunningFactory {
  readonly api: Api;
  readonly config: Config;
  readonly dataDir: string;
  /** A git repository of the sample project, one commit on main. */
  readonly plume: string;
  readonly bearer: { readonly authorization: string };
  /** Raw requests to the application. */
  send(path: string, init?: Omit<RequestInit, "headers"> & { headers?: Record<string, string> }): Promise<Response>;
  start(run: { workflow: string; input: string; model?: string; project?: string }): Promise<string>;
  /** Waits until the run has ended. */
  finished(runId: string): Promise<RunReport>;
  events(runId: string): readonly JournalEvent[];
  harness(sessionId: string): readonly HarnessEvent[];
  git(...args: string[]): string;
  /** Stops it and leaves its folder for a next one (`root`). */
  stop(): Promise<string>;
  close(): Promise<void>;
}

export interface JournalEvent {
  readonly event_id: string;
  readonly phase_id: string | null;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface HarnessEvent {
  readonly event_id: string;
  readonly type: string;
  readonly name: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface FactoryOptions {
  readonly databaseUrl?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** Folder of a factory that was stopped. */
  readonly root?: string;
}

export async function openFactory(options: FactoryOptions = {}): Promise<RunningFactory> {
  const { databaseUrl, env = {}, root = mkdtempSync(join(tmpdir(), "harnais-factory-")) } = options;
  const dataDir = join(root, "data");
  const plume = join(root, "plume");
  if (options.root === undefined) makeSampleRepository(plume);
  const config = loadConfig({
    cwd: root,
    env: {
      PATH: process.env["PATH"],
      HARNAIS_DATA_DIR: dataDir,
      HARNAIS_LOG_LEVEL: "silent",
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
      ...env,
    },
  });
  const connection = await startInProcess(config, { carriesOutRuns: true });
  const api = createApi(connection);
  const bearer = { authorization: `Bearer ${connection.token}` };
  return {
    api,
    config,
    dataDir,
    plume,
    bearer,
    send: (path, init = {}) => connection.send(path, { ...init, headers: { ...bearer, ...init.headers } }),
    start: async ({ project = plume, ...run }) => (await api.post("/api/runs", { ...run, project }, z.object({ runId: z.string() }))).runId,
    finished: (runId) => waitForEnd(api, runId),
    events: (runId) => readJsonl<JournalEvent>(join(dataDir, "traces", `${runId}.jsonl`)),
    harness: (sessionId) => readJsonl<HarnessEvent>(join(dataDir, "traces", "harness", `${sessionId}.jsonl`)),
    git: (...args) => runGit(plume, args),
    async stop() {
      await api[Symbol.asyncDispose]();
      return root;
    },
    async close() {
      await api[Symbol.asyncDispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function waitForEnd(api: Api, runId: string): Promise<RunReport> {
  let report: RunReport | undefined;
  await expect
    .poll(
      async () => {
        report = await api.get(`/api/runs/${runId}`, RunReportSchema);
        return isFinalRunStatus(report.status);
      },
      { timeout: RUN_TIMEOUT_MS, interval: 100 },
    )
    .toBe(true);
  if (report === undefined) throw new Error(`no report of ${runId}`);
  return report;
}

/** Copies the sample project and makes it a git repository of its own. */
export function makeSampleRepository(folder: string): string {
  cpSync(join(ROOT, "factory", "sample-project"), folder, { recursive: true });
  runGit(folder, ["init", "--quiet", "--initial-branch=main"]);
  runGit(folder, ["add", "--all"]);
  runGit(folder, ["commit", "--quiet", "-m", "first"]);
  return folder;
}

export function runGit(cwd: string, args: readonly string[]): string {
  return execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.com", ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).trim();
}

/** Lines of a journal; a missing file has none. */
export function readJsonl<Line>(file: string): Line[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}
