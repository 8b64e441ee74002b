import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { isOnPath, TOOL_PROGRAMS } from "./agents/pi-tools.ts";
import { createAgents } from "./agents/registry.ts";
import type { Config } from "./config.ts";
import { openDatabase } from "./db/open-database.ts";
import { findServer } from "./http/api-client.ts";
import { createLauncher } from "./launcher/create-launcher.ts";
import { FactoryError, messageOf } from "./lib/errors.ts";

/** One part of the factory as `harnais doctor` reports it. */
export interface PartReport {
  readonly name: string;
  readonly status: "ok" | "warning" | "missing";
  readonly version: string | null;
  /** False: the factory works without it. */
  readonly isRequired: boolean;
  readonly detail: string;
  /** The command or setting that mends it. */
  readonly mend?: string;
}

const REQUIRED_NODE_MAJOR = 24;
const VERSION_TIMEOUT_MS = 10_000;

/** Looks at every part; never throws. */
export async function checkParts(config: Config): Promise<PartReport[]> {
  return [
    checkNode(),
    await checkGit(config),
    checkPi(config),
    ...checkPiTools(config),
    checkDataDir(config),
    await checkDatabase(config),
    checkProviders(),
    checkLevel(),
  ];
}

function checkNode(): PartReport {
  const version = process.versions.node;
  const isNewEnough = Number(version.split(".")[0]) >= REQUIRED_NODE_MAJOR;
  const part = { name: "node", version, isRequired: true, detail: process.execPath };
  return isNewEnough
    ? { ...part, status: "ok" }
    : { ...part, status: "missing", mend: `npm install in the clone brings Node ${REQUIRED_NODE_MAJOR}` };
}

async function checkGit({ baseEnv }: Config): Promise<PartReport> {
  const part = { name: "git", isRequired: true };
  try {
    const { stdout } = await createLauncher().runCommand(
      { file: "git", args: ["--version"] },
      { cwd: process.cwd(), env: baseEnv, timeoutMs: VERSION_TIMEOUT_MS },
      AbortSignal.timeout(VERSION_TIMEOUT_MS),
    );
    return { ...part, status: "ok", version: stdout.trim().replace(/^git version /, ""), detail: "found on PATH" };
  } catch (error) {
    return { ...part, status: "missing", version: null, detail: messageOf(error), mend: "apt-get install git (or your system's package)" };
  }
}

function checkPi(config: Config): PartReport {
  const part = { name: "pi", isRequired: true };
  try {
    const pi = createAgents(config).get("pi");
    const program = pi?.locate();
    if (pi === undefined || program === undefined) throw new FactoryError("part-missing", "no adapter");
    const isTested = pi.testedVersions.some((tested) => program.version.startsWith(`${tested}.`));
    const detail = program.command.args[0] ?? program.command.file;
    if (isTested) return { ...part, status: "ok", version: program.version, detail };
    return { ...part, status: "warning", version: program.version, detail: `${detail}: tested with ${pi.testedVersions.join(", ")} only` };
  } catch (error) {
    return {
      ...part,
      status: "missing",
      version: null,
      detail: messageOf(error),
      mend: "npm install in the clone, or HARNAIS_PI=/path/to/pi",
    };
  }
}

/** Programs that some of pi's tools start; without them those tools are not offered. */
function checkPiTools({ baseEnv }: Config): PartReport[] {
  return Object.entries(TOOL_PROGRAMS)
    .filter(([, program]) => !isOnPath(program, baseEnv["PATH"] ?? ""))
    .map(([tool, program]) => ({
      name: program,
      status: "warning",
      version: null,
      isRequired: false,
      detail: `not on PATH: pi works without its tool ${tool}`,
      mend: program === "rg" ? "apt-get install ripgrep" : "apt-get install fd-find, and a link fd to fdfind",
    }));
}

function checkDataDir({ dataDir }: Config): PartReport {
  const part = { name: "data folder", isRequired: true, version: null };
  let folder = dataDir;
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return { ...part, status: "ok", detail: dataDir };
  } catch {
    return { ...part, status: "missing", detail: `${folder} cannot be written`, mend: "set HARNAIS_DATA_DIR to a folder of yours" };
  }
}

async function checkDatabase(config: Config): Promise<PartReport> {
  const part = { name: config.databaseUrl === undefined ? "database (embedded)" : "database (server)", isRequired: true };
  try {
    const server = await findServer(config);
    if (server !== undefined) return { ...part, status: "ok", version: null, detail: `served at ${server.where}` };
    if (config.databaseUrl === undefined && !existsSync(config.dataDir)) {
      return { ...part, status: "ok", version: null, detail: "will be made at the first start" };
    }
    const database = await openDatabase({ dataDir: config.dataDir, databaseUrl: config.databaseUrl });
    try {
      const detail =
        database.kind === "embedded"
          ? "opens; safe when a process crashes, not when power fails: keep the traces, back up"
          : "reachable, migrated";
      return { ...part, status: "ok", version: await database.version(), detail };
    } finally {
      await database.close();
    }
  } catch (error) {
    const isOwned = error instanceof FactoryError && error.code === "base-owned";
    return {
      ...part,
      status: isOwned ? "warning" : "missing",
      version: null,
      detail: messageOf(error),
      mend: "harnais serve, or DATABASE_URL",
    };
  }
}

function checkProviders(): PartReport {
  return {
    name: "model",
    status: "ok",
    version: null,
    isRequired: false,
    detail: "rehearsal/demo until a run or project names another (`harnais providers list`)",
  };
}

function checkLevel(): PartReport {
  return {
    name: "confinement",
    status: "warning",
    version: null,
    isRequired: false,
    detail: "level none: agents run with your rights, found again by their session's mark; give them only what you would run yourself",
  };
}
