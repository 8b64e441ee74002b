import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { phasedBaseUrl } from "@harnais/contracts/phase-label.ts";
import type { Logger } from "pino";
import type { AgentAdapter, AgentProgram, AgentStreamParser, AgentTask } from "../agents/agent-adapter.ts";
import type { Config } from "../config.ts";
import { toChildEnv } from "../launcher/agent-environment.ts";
import type { LaunchOptions } from "../launcher/process.ts";
import type { Command } from "../launcher/process.ts";
import { FactoryError } from "../lib/errors.ts";
import type { LlmProxy } from "../llm-proxy/proxy-port.ts";
import type { Job } from "./job.ts";
import { makeTempFolder } from "./temp-folder.ts";

/** All that one attempt needs before its process starts. */
export interface PreparedAttempt {
  /** Goes with the attempt. */
  readonly tempDir: string;
  readonly agent: AgentAdapter;
  readonly command: Command;
  readonly options: Omit<LaunchOptions, "onLine"> & { readonly stdinFile: string; readonly stderrFile: string };
  readonly parser: AgentStreamParser;
  readonly logFile: string;
}

interface PrepareDeps {
  readonly config: Pick<Config, "baseEnv">;
  readonly proxy: LlmProxy;
  readonly dataDir: string;
  readonly log: Logger;
}

/** Carries the mark that the sweep looks for (definitions D3). */
export const SESSION_MARK = "HARNAIS_SESSION_ID";
const TOKEN_ENV = "HARNAIS_PROXY_TOKEN";
/** The token outlives the attempt's own limit: the kill ladder may take its time. */
const TOKEN_MARGIN_MS = 5 * 60_000;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/**
 * Finds the model and the CLI, mints the proxy token, writes the CLI's files and the prompt.
 * @throws part-missing, unknown-provider, unknown-model, bad-input; the system's error when a file cannot be written.
 */
export async function prepareAttempt(job: Job, deps: PrepareDeps, agent: AgentAdapter): Promise<PreparedAttempt> {
  if (job.prompt.trim() === "") throw new FactoryError("bad-input", "the prompt is empty: say what is to be done", { field: "prompt" });
  const program = agent.locate();
  warnUntested(agent, program, deps.log);
  const homeDir = join(deps.dataDir, "agents", job.runId, job.harness);
  const isNewSession = !(job.resume && agent.hasSession({ homeDir, sessionId: job.sessionId }));
  const task = await toTask(job, deps.proxy, { homeDir, isNewSession });
  const launch = agent.toLaunch(task, program);

  const stdinFile = join(homeDir, "prompts", `${job.jobId}.txt`);
  await mkdir(homeDir, { recursive: true, mode: FOLDER_MODE });
  for (const [file, content] of Object.entries({ ...launch.files, [stdinFile]: agent.toPromptText(toPrompt(job, isNewSession)) })) {
    await mkdir(dirname(file), { recursive: true, mode: FOLDER_MODE });
    await writeFile(file, content, { mode: FILE_MODE });
  }
  const tempDir = join(homeDir, "tmp", job.jobId);
  const tempEnv = await makeTempFolder(tempDir);
  const logs = join(deps.dataDir, "logs");
  await mkdir(logs, { recursive: true, mode: FOLDER_MODE });
  return {
    agent,
    command: launch.command,
    options: {
      cwd: job.cwd,
      env: toChildEnv(deps.config.baseEnv, {
        ...tempEnv,
        ...launch.env,
        ...toRunEnv(job, deps.dataDir),
        [TOKEN_ENV]: mintToken(job, task, deps.proxy),
      }),
      stdinFile,
      stderrFile: join(logs, `${job.jobId}.stderr.log`),
      terminal: true,
      confinement: "none",
      limits: { timeoutMs: job.limits.timeoutMs, idleMs: job.limits.idleMs },
      mark: { name: SESSION_MARK, value: job.sessionId },
    },
    parser: agent.createParser(task),
    tempDir,
    logFile: join(logs, `${job.jobId}.log`),
  };
}

function warnUntested(agent: AgentAdapter, { version }: AgentProgram, log: Logger): void {
  const minor = version.split(".").slice(0, 2).join(".");
  if (!agent.testedVersions.includes(minor))
    log.warn({ agent: agent.name, version, tested: agent.testedVersions }, "this version of the agent CLI is outside the tested range");
}

async function toTask(
  job: Job,
  proxy: LlmProxy,
  { homeDir, isNewSession }: { homeDir: string; isNewSession: boolean },
): Promise<AgentTask> {
  const model = await proxy.catalog.find(job.model, { runId: job.runId });
  return {
    sessionId: job.sessionId,
    isNewSession,
    mode: job.mode,
    model: { provider: model.provider, model: model.model },
    price: model.price,
    contextWindow: model.contextWindow,
    maxOutputTokens: model.maxOutputTokens,
    proxyBaseUrl: phasedBaseUrl(proxy.baseUrl(), job.label, true),
    proxyTokenEnv: TOKEN_ENV,
    cwd: job.cwd,
    homeDir,
    idleMs: job.limits.idleMs,
    ...(job.tools === undefined ? {} : { tools: job.tools }),
    ...(job.systemPrompt === undefined ? {} : { systemPrompt: job.systemPrompt }),
  };
}

/** A session that was lost before it began never saw the first prompt. */
function toPrompt({ resume, prompt, firstPrompt }: Job, isNewSession: boolean): string {
  return resume && isNewSession && firstPrompt !== prompt ? `${firstPrompt}\n\n${prompt}` : prompt;
}

function toRunEnv(job: Job, dataDir: string): Record<string, string> {
  return {
    HARNAIS_RUN_ID: job.runId,
    HARNAIS_PHASE_ID: job.phaseId,
    HARNAIS_ATTEMPT: String(job.attempt),
    [SESSION_MARK]: job.sessionId,
    HARNAIS_TRACE_DIR: join(dataDir, "traces", "harness"),
    HARNAIS_RESULT: join(job.cwd, ".harnais-out", "result.json"),
  };
}

function mintToken(job: Job, task: AgentTask, proxy: LlmProxy): string {
  return proxy.tokens.mint({
    runId: job.runId,
    phaseId: job.phaseId,
    attempt: job.attempt,
    sessionId: job.sessionId,
    jobId: job.jobId,
    labels: [job.label],
    agent: job.harness,
    ...task.model,
    expiresAtMs: Date.now() + job.limits.timeoutMs + TOKEN_MARGIN_MS,
  });
}
