import { toModelId } from "@harnais/contracts/model-id.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentAdapter, AgentLaunch, AgentProgram, AgentTask } from "./agent-adapter.ts";
import { judgePi } from "./judge-pi.ts";
import { locatePi } from "./locate-pi.ts";
import { toPiFiles, toPiFolders, toPriceStatus } from "./pi-config.ts";
import { createPiParser } from "./pi-stream.ts";
import { toPiTools } from "./pi-tools.ts";

// pi 1.6 (`pi --help`), driven by `--mode json -p` with the prompt on standard input.

interface PiOptions {
  /** HARNAIS_PI. */
  readonly piPath: string | undefined;
  /** PATH that agents get. */
  readonly searchPath: string;
  /** Absolute path of the probe that writes the harness trace. */
  readonly probeFile: string;
}

/** The adapter of pi. */
export function createPi({ piPath, searchPath, probeFile }: PiOptions): AgentAdapter {
  return {
    name: "pi",
    testedVersions: ["1.6"],
    locate: () => locatePi({ piPath, searchPath }),
    toLaunch: (task, program) => toLaunch(task, program, { probeFile, searchPath }),
    toPromptText,
    createParser: (task) => createPiParser(toPriceStatus(task.price)),
    judge: judgePi,
    hasSession,
  };
}

function toLaunch(
  task: AgentTask,
  program: AgentProgram,
  { probeFile, searchPath }: Pick<PiOptions, "probeFile" | "searchPath">,
): AgentLaunch {
  const { agentDir, sessionDir, systemPromptFile } = toPiFolders(task.homeDir);
  const tools = toPiTools(task, searchPath);
  const price = toPriceStatus(task.price);
  const args = [
    ...["--mode", "json", "-p"],
    // Loaded by name whatever the trust; nothing that the checkout brings is loaded.
    ...["-e", probeFile, "-na", "-ne", "-ns", "-np", "--no-themes", "--no-mcp", "--offline"],
    ...["--session-dir", sessionDir],
    // `--session` opens only: a lost session cannot silently become a fresh one.
    ...[task.isNewSession ? "--session-id" : "--session", task.sessionId],
    ...["--model", toModelId(task.model)],
    ...(tools.length === 0 ? ["--no-tools"] : ["--tools", tools.join(",")]),
    ...(task.systemPrompt === undefined ? [] : ["--append-system-prompt", systemPromptFile]),
  ];
  return {
    command: { file: program.command.file, args: [...program.command.args, ...args] },
    env: {
      HOME: task.homeDir,
      PI_CODING_AGENT_DIR: agentDir,
      PI_OFFLINE: "1",
      PI_TELEMETRY: "0",
      PI_SKIP_VERSION_CHECK: "1",
      ...(price === "priced" ? {} : { HARNAIS_PRICE: price }),
    },
    files: toPiFiles(task),
  };
}

/**
 * pi takes a prompt that begins with `/name ` as a command of an extension; only ours are loaded, and theirs begin
 * with `harnais-`. Everything else reaches the model as it is (pi trims white space at both ends).
 */
function toPromptText(prompt: string): string {
  return /^\s*\/harnais-/.test(prompt) ? `The request:\n${prompt}` : prompt;
}

/** A session that pi can go on with: its file holds a user message, not only the header. */
function hasSession({ homeDir, sessionId }: Pick<AgentTask, "homeDir" | "sessionId">): boolean {
  const { sessionDir } = toPiFolders(homeDir);
  try {
    return readdirSync(sessionDir)
      .filter((name) => name.endsWith(`_${sessionId}.jsonl`))
      .some((name) => readFileSync(join(sessionDir, name), "utf8").includes('"role":"user"'));
  } catch {
    return false;
  }
}
