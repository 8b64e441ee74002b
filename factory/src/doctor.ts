import { accessSync, constants, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { z } from "zod";
import { isOnPath, TOOL_PROGRAMS } from "./agents/pi-tools.ts";
import { createAgents } from "./agents/registry.ts";
import type { Config } from "./config.ts";
import { openDatabase } from "./db/open-database.ts";
import { toSnapshotPath } from "./db/snapshot.ts";
import { type Api, findServer } from "./http/api-client.ts";
import type { Launcher } from "./launcher/process.ts";
import { FactoryError, messageOf } from "./lib/errors.ts";
import { DEFAULT_PROVIDERS } from "./llm-proxy/provider.ts";

// It looks at the parts of every slice, so it belongs to none, and wires what it looks through by itself, part by part:
// main.ts assembles a whole factory, which a machine with a missing part cannot have. For the same reason the launcher is
// loaded late: where node-pty is broken, that is what must be said.

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

/** Looks at every part; never throws. `connect` opens the API, a server's or the application's in this process. */
export async function checkParts(config: Config, connect: () => Promise<Api>): Promise<PartReport[]> {
  const database = await checkDatabase(config);
  return [
    checkNode(),
    await checkGit(config),
    await checkTerminal(config),
    checkPi(config),
    ...checkPiTools(config),
    checkDataDir(config),
    database,
    ...checkSnapshot(config),
    await checkProviders(config, connect),
    checkLevel(),
  ];
}

async function loadLauncher(): Promise<Launcher> {
  return (await import("./launcher/create-launcher.ts")).createLauncher();
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
    const { stdout } = await (
      await loadLauncher()
    ).runCommand(
      { file: "git", args: ["--version"] },
      { cwd: process.cwd(), env: baseEnv, timeoutMs: VERSION_TIMEOUT_MS },
      AbortSignal.timeout(VERSION_TIMEOUT_MS),
    );
    return { ...part, status: "ok", version: stdout.trim().replace(/^git version /, ""), detail: "found on PATH" };
  } catch (error) {
    // Without the launcher nothing is known of git.
    const isAway = error instanceof FactoryError && error.code === "part-missing";
    const mend = isAway ? "apt-get install git (or your system's package)" : "see terminals, below";
    return { ...part, status: "missing", version: null, detail: messageOf(error), mend };
  }
}

/** Starts a program on a terminal: the library may load where the system gives no terminals. */
async function checkTerminal({ baseEnv }: Config): Promise<PartReport> {
  const part = { name: "terminals", isRequired: true };
  try {
    const { version } = createRequire(import.meta.url)("@lydell/node-pty/package.json") as { version: string };
    const launcher = await loadLauncher();
    const { exitCode, cause } = await launcher.launch(
      { file: "/bin/sh", args: ["-c", "test -t 1"] },
      {
        ...{ cwd: process.cwd(), env: baseEnv, terminal: true, confinement: "none", onLine: () => undefined },
        limits: { timeoutMs: VERSION_TIMEOUT_MS },
      },
      new AbortController().signal,
    ).done;
    if (exitCode !== 0) throw new Error(`a program on a terminal ended with ${exitCode ?? cause}`);
    return { ...part, status: "ok", version, detail: "node-pty starts programs on them" };
  } catch (error) {
    const detail = `node-pty: ${messageOf(error).split("\n", 1)[0] ?? ""}`;
    return { ...part, status: "missing", version: null, detail, mend: "npm install in the clone; a system with /dev/ptmx" };
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

/** Matters once: a first start copies it. */
function checkSnapshot({ databaseUrl, dataDir }: Config): PartReport[] {
  if (databaseUrl !== undefined || existsSync(dataDir)) return [];
  const part = { name: "database snapshot", version: null, isRequired: false };
  if (existsSync(toSnapshotPath())) return [{ ...part, status: "ok", detail: "the first start copies it" }];
  return [{ ...part, status: "warning", detail: "not there: the first start takes seconds longer", mend: "npm run setup in the clone" }];
}

const ProviderPage = z.object({
  items: z.array(z.object({ name: z.string(), enabled: z.boolean(), keyEnv: z.string().nullable(), keySet: z.boolean().nullable() })),
});
type ProviderState = z.infer<typeof ProviderPage>["items"][number];

async function checkProviders(config: Config, connect: () => Promise<Api>): Promise<PartReport> {
  const part = { name: "models", version: null, isRequired: false };
  try {
    const providers = await listProviders(config, connect);
    const enabled = providers.filter((provider) => provider.enabled);
    const detail = `rehearsal/demo until a run or project names another; enabled: ${enabled.map(toProviderText).join(", ") || "none"}`;
    return { ...part, status: "ok", detail };
  } catch (error) {
    return { ...part, status: "warning", detail: `providers unknown: ${messageOf(error)}`, mend: "harnais providers list" };
  }
}

async function listProviders(config: Config, connect: () => Promise<Api>): Promise<readonly ProviderState[]> {
  // Nothing is there yet and a look must not make it: the first start will make these.
  if (config.databaseUrl === undefined && config.server === undefined && !existsSync(config.dataDir))
    return DEFAULT_PROVIDERS.map(({ name, enabled, keyEnv }) => ({
      ...{ name, enabled, keyEnv },
      keySet: keyEnv === null ? null : config.secret(keyEnv) !== undefined,
    }));
  await using api = await connect();
  return (await api.get("/api/providers?limit=200", ProviderPage)).items;
}

function toProviderText({ name, keyEnv, keySet }: ProviderState): string {
  return keyEnv === null ? name : `${name} (${keyEnv} ${keySet === true ? "set" : "not set"})`;
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
