import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRunId, createSessionId, toJobId, toPhaseId } from "@harnais/contracts/ids.ts";
import { pino } from "pino";
import { createAgents } from "../../../src/agents/registry.ts";
import type { ReadStructured } from "../../../src/ai/structured-port.ts";
import { loadConfig } from "../../../src/config.ts";
import type { Job, JobObserver, JobOutcome, JobProgress, RunJob } from "../../../src/executor/job.ts";
import { createRunJob } from "../../../src/executor/run-job.ts";
import { createLauncher } from "../../../src/launcher/create-launcher.ts";
import { createRedactor } from "../../../src/lib/redaction.ts";
import { createLlmProxy, type LlmProxyServer } from "../../../src/llm-proxy/llm-proxy.ts";
import { createGit } from "../../../src/projects/git.ts";
import { withStagedTree } from "../../../src/projects/stage-tree.ts";
import { createWorktree } from "../../../src/projects/worktree.ts";
import { startFakeProvider, type FakeAnswer, type FakeProvider, type SeenRequest } from "./fake-provider.ts";

/** A scenario of the rehearsal model, as its file holds it. */
export interface ScenarioFile {
  readonly name: string;
  readonly price?: object | null;
  readonly contextWindow?: number;
  readonly rules: readonly { readonly when?: object; readonly then: object }[];
}

export interface HouseOptions {
  readonly scenarios?: readonly ScenarioFile[];
  /** Answers of the provider `wire`; its models have no price. */
  readonly answer?: (n: number, request: SeenRequest) => FakeAnswer;
  readonly env?: Readonly<Record<string, string>>;
  readonly knownSecrets?: readonly string[];
}

/** The executor with everything real around it: launcher, pi, proxy, rehearsal model, git; on a temporary folder. */
export interface ExecutorHouse {
  readonly dataDir: string;
  /** A worktree of a git repository with one commit. */
  readonly checkout: string;
  readonly runJob: RunJob;
  readonly proxy: LlmProxyServer;
  readonly provider: FakeProvider;
  /** Lines of the harness journal of a session. */
  trace(sessionId: string): readonly TraceLine[];
  /** User messages of the nth request that the provider `wire` got, from 0. */
  userTexts(n: number): readonly string[];
  /** Closing bill lines, oldest first. */
  bills(): readonly Record<string, unknown>[];
  close(): Promise<void>;
}

export interface TraceLine {
  readonly type: string;
  readonly name: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Reads JSON or says why not: the executor's tests need no repair. */
const readStructured: ReadStructured = async ({ text }) => {
  try {
    return {
      ok: true,
      value: JSON.parse(text),
      diagnostics: { parsedOn: "primary", repairAttempted: false, looksDoubled: false },
      calls: [],
    };
  } catch {
    const calls = [
      { kind: "factory" as const, response_id: "r1", label: "structured-repair", tokens: 7, cost_usd: 0.001, stop_reason: "stop" },
    ];
    return {
      ok: false,
      diagnostics: { parsedOn: "none", repairAttempted: true, looksDoubled: false, primaryError: "not JSON" },
      calls,
    };
  }
};

export async function openHouse(options: HouseOptions = {}): Promise<ExecutorHouse> {
  const root = mkdtempSync(join(tmpdir(), "harnais-executor-"));
  const dataDir = join(root, "data");
  const repo = makeRepository(join(root, "repository"));
  const scenariosDir = writeScenarios(join(root, "scenarios"), options.scenarios ?? []);
  const env = { PATH: process.env["PATH"], HARNAIS_DATA_DIR: dataDir, HARNAIS_SCENARIOS: scenariosDir, ...options.env };
  const config = loadConfig({ env, cwd: root });
  const log = pino({ level: "silent" });
  const provider = await startFakeProvider(options.answer ?? (() => ({ text: "ok" })));
  const proxy = createLlmProxy({
    config,
    log,
    rows: {
      findProvider: async (name) =>
        name === "wire" ? { name, dialect: "chat-completions", baseUrl: provider.baseUrl, keyEnv: null, enabled: true } : undefined,
      findPrice: async () => undefined,
    },
  });
  await proxy.listen({ host: "127.0.0.1", port: 0 });
  const launcher = createLauncher();
  const git = createGit({ launcher, config });
  const { signal } = new AbortController();
  const made = await createWorktree({ git, config }, { project: { repo, baseBranch: "main" }, runId: "00000000" }, signal);
  const work = { worktree: { repo, path: made.path }, parent: made.baseSha };
  const runJob = createRunJob({
    config,
    launcher,
    hasChanges: (_job, signal) => withStagedTree(git, work, async ({ changes }) => changes.length > 0, signal),
    agents: createAgents(config),
    proxy,
    readStructured,
    redactor: createRedactor({ knownSecrets: options.knownSecrets ?? [] }),
    dataDir,
    log,
  });
  return {
    dataDir,
    checkout: made.path,
    runJob,
    proxy,
    provider,
    trace: (sessionId) => readLines<TraceLine>(join(dataDir, "traces", "harness", `${sessionId}.jsonl`)),
    userTexts: (n) =>
      (provider.requests[n]?.body.messages ?? []).filter(({ role }) => role === "user").map(({ content }) => toText(content)),
    bills: () =>
      readdirSync(join(dataDir, "traces", "bills"))
        .flatMap((file) => readLines<{ type: string; payload: Record<string, unknown> }>(join(dataDir, "traces", "bills", file)))
        .filter((line) => line.type === "bill_close")
        .map((line) => line.payload),
    async close() {
      await proxy.stop();
      await provider.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const toText = (content: unknown): string =>
  typeof content === "string" ? content : (content as { text?: string }[]).map((part) => part.text ?? "").join("");

function makeRepository(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "README.md"), "# Sample\n");
  const git = (...args: string[]): void =>
    void execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.com", ...args], {
      cwd: folder,
      stdio: "ignore",
      env: { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
    });
  git("init", "-b", "main");
  git("add", ".");
  git("commit", "-m", "first");
  return folder;
}

function writeScenarios(folder: string, scenarios: readonly ScenarioFile[]): string {
  mkdirSync(folder, { recursive: true });
  // JSON is YAML.
  for (const scenario of scenarios) writeFileSync(join(folder, `${scenario.name}.yaml`), JSON.stringify(scenario));
  return folder;
}

const readLines = <Line>(file: string): Line[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);

/** A job of its own run, read-only, with short limits; `attempt` names the job. */
export function toJob(house: ExecutorHouse, job: Partial<Job> & { readonly model: string }): Job {
  const runId = job.runId ?? createRunId();
  const phaseId = toPhaseId(runId, 1);
  const prompt = job.prompt ?? "Say what you see.";
  return {
    jobId: toJobId(phaseId, job.attempt ?? 1),
    runId,
    phaseId,
    attempt: 1,
    harness: "pi",
    mode: "explore",
    label: "agent",
    prompt,
    firstPrompt: prompt,
    sessionId: createSessionId(),
    resume: false,
    cwd: house.checkout,
    limits: { timeoutMs: 90_000, idleMs: 60_000 },
    ...job,
  };
}

/** An observer that keeps what it was told; `seen` resolves when a progress fits. */
export function watchJob(): JobObserver & {
  readonly pids: number[];
  readonly progress: JobProgress[];
  seen(fits: (progress: JobProgress) => boolean): Promise<void>;
} {
  const pids: number[] = [];
  const progress: JobProgress[] = [];
  const waiting: { fits: (progress: JobProgress) => boolean; resolve: () => void }[] = [];
  return {
    pids,
    progress,
    onStart: ({ pid }) => void pids.push(pid),
    onProgress(next) {
      progress.push(next);
      for (const { fits, resolve } of waiting) if (fits(next)) resolve();
    },
    seen: (fits) =>
      new Promise((resolve) => {
        if (progress.some(fits)) resolve();
        else waiting.push({ fits, resolve });
      }),
  };
}

/** Runs a job without watching it. */
export const runQuietly = (house: ExecutorHouse, job: Job, signal = new AbortController().signal): Promise<JobOutcome> =>
  house.runJob(job, watchJob(), signal);
