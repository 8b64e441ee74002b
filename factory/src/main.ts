import { join } from "node:path";
import { randomHex } from "@harnais/contracts/ids.ts";
import type { Json } from "@harnais/contracts/json.ts";
import type { Hono } from "hono";
import type { Logger } from "pino";
import { createAgents } from "./agents/registry.ts";
import { createReadStructured } from "./ai/structured.ts";
import type { Config } from "./config.ts";
import { prepareDataDir } from "./db/data-dir.ts";
import { type Database, openDatabase } from "./db/open-database.ts";
import { dispatchRequest } from "./dispatch/dispatch-request.ts";
import { followRuns } from "./dispatch/follow-runs.ts";
import { createRunJob } from "./executor/run-job.ts";
import { createApp } from "./http/app.ts";
import { eventsRoutes } from "./http/events.routes.ts";
import { createRequestService, type RequestService } from "./intake/request-service.ts";
import { requestRoutes } from "./intake/request.routes.ts";
import { createHousekeeping } from "./housekeeping.ts";
import { createLauncher } from "./launcher/create-launcher.ts";
import type { Launcher } from "./launcher/process.ts";
import { createLog } from "./lib/create-log.ts";
import { makeFolder } from "./lib/make-folder.ts";
import { createRedactor, type Redactor } from "./lib/redaction.ts";
import { VERSION } from "./lib/version.ts";
import { createLlmProxy, type LlmProxyServer } from "./llm-proxy/llm-proxy.ts";
import { createModelRows, ensureDefaultProviders } from "./llm-proxy/model-rows.ts";
import { priceRoutes } from "./llm-proxy/price.routes.ts";
import { providerRoutes } from "./llm-proxy/provider.routes.ts";
import { listProviders } from "./llm-proxy/provider.sql.ts";
import { recoverBills } from "./llm-proxy/recover-bills.ts";
import { createGit, type Git } from "./projects/git.ts";
import { loadProjectWorkflow } from "./projects/project-workflows.ts";
import { projectRoutes } from "./projects/project.routes.ts";
import { listProjects } from "./projects/project.sql.ts";
import { getProject, lookUpProject, resolveProject } from "./projects/project.ts";
import { createWorkbench } from "./projects/run-workbench.ts";
import { createSecretScanner } from "./projects/secret-patterns.ts";
import { createEventFeed, type EventFeed } from "./runs/event-feed.ts";
import { insertEvent } from "./runs/event.sql.ts";
import { guardExit } from "./runs/guard-exit.ts";
import type { ExecuteDeps } from "./runs/execute-deps.ts";
import { findLastSeq, listEventFrames } from "./runs/list-event-frames.ts";
import { runRoutes } from "./runs/run.routes.ts";
import { getRun } from "./runs/run.sql.ts";
import { createRunService, type LiveRuns, type RunService } from "./runs/run-service.ts";
import { RunWorker } from "./runs/run-worker.ts";
import { waitForAnswer } from "./runs/wait-for-answer.ts";
import { createWorkflowCatalog, type WorkflowCatalog } from "./runs/workflow-catalog.ts";
import { countActivity } from "./trace/attempt-activity.ts";
import { createMirrors, type Mirrors } from "./trace/mirrors.ts";
import { createPostgresSource } from "./trace/postgres-source.ts";

// The only place of wiring: config → database → adapters → slices → start.

/** Where neither a run nor its project names a model: nothing is configured, so nothing may cost. */
const DEFAULT_MODEL = "rehearsal/demo";
const FOLDER_MODE = 0o700;
const MAX_PROVIDERS = 1_000;

/** What is there before the slices: the base, the parts that touch the world, the feed. */
export interface House {
  readonly config: Config;
  readonly log: Logger;
  readonly database: Database;
  readonly launcher: Launcher;
  readonly git: Git;
  /** Values that must appear nowhere. */
  readonly knownSecrets: readonly string[];
  readonly redactor: Redactor;
  readonly proxy: LlmProxyServer;
  readonly feed: EventFeed;
  readonly live: LiveRuns;
  readonly workflows: WorkflowCatalog;
  readonly mirrors: Mirrors;
  readonly journalsBehind: Set<string>;
}

export interface Factory {
  readonly house: House;
  readonly app: Hono;
  readonly token: string;
  readonly worker: RunWorker;
  /** Puts right what a crash left behind (housekeeping.ts). */
  keepHouse(): Promise<void>;
  stop(): Promise<void>;
}

/** Wires a factory on a configuration; nothing listens and nothing is taken from the queue yet. @throws base-owned, storage, … */
export async function createFactory(config: Config, { scope }: { scope: "any" | "announced" }): Promise<Factory> {
  const token = randomHex(24);
  const house = await openHouse(config, { token, logsToFile: scope === "announced" });
  const { database } = house;
  try {
    const deps = createExecuteDeps(house);
    const worker: RunWorker = new RunWorker({
      concurrency: config.concurrency,
      scope,
      live: house.live,
      deps,
      onSettled: () => house.mirrors.toSqlite(),
      onBroken: () => keepHouse(),
    });
    const runs = createRunService({
      ...house,
      ...deps,
      owner: worker.owner,
      redactText: (text) => house.redactor.redact(text),
      announce: (runId) => worker.announce(runId),
      countActivity: (runId) => countActivity(createPostgresSource(database.db), runId),
    });
    const requests = createRequests(house, runs);
    const keepHouse = createHousekeeping({
      ...house,
      db: database.db,
      execute: deps,
      requests,
      owner: worker.owner,
      isSoleProcess: database.kind === "embedded",
      isLive: (runId) => worker.isLive(runId),
    });
    const stopping = new AbortController();
    const app = createApplication(house, { runs, requests, token, signal: stopping.signal });
    const endFollowing = keepRequestsInStep(house, requests);
    const endGuard = guardExit(house.live);
    return {
      house,
      app,
      token,
      worker,
      keepHouse,
      async stop() {
        stopping.abort();
        endGuard();
        await endFollowing();
        await house.proxy.stop();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openHouse(config: Config, { token, logsToFile }: { token: string; logsToFile: boolean }): Promise<House> {
  prepareDataDir(config.dataDir);
  const logs = join(config.dataDir, "logs");
  makeFolder(logs, FOLDER_MODE);
  const known = createRedactor({ knownSecrets: config.knownSecrets() });
  const log = createLog(config, known, logsToFile ? join(logs, "factory.log") : undefined);
  const database = await openDatabase({ dataDir: config.dataDir, databaseUrl: config.databaseUrl, log });
  try {
    await ensureDefaultProviders(database.db);
    // On a full disk readers must still work; the bills stay open until the next start.
    await recoverBills(config.dataDir).catch((error: unknown) => log.warn({ err: error }, "bills of killed proxies were not closed"));
    const providers = await listProviders(database.db, "", MAX_PROVIDERS);
    const keyNames = providers.flatMap(({ keyEnv }) => (keyEnv === null ? [] : [keyEnv]));
    return createHouse(config, { log, database, knownSecrets: [...config.knownSecrets(keyNames), token] });
  } catch (error) {
    await database.close();
    throw error;
  }
}

function createHouse(config: Config, { log, database, knownSecrets }: Pick<House, "log" | "database" | "knownSecrets">): House {
  const launcher = createLauncher();
  const { db } = database;
  return {
    config,
    log,
    database,
    launcher,
    git: createGit({ launcher, config }),
    knownSecrets,
    redactor: createRedactor({ knownSecrets }),
    proxy: createLlmProxy({ config, rows: createModelRows(db), log }),
    feed: createEventFeed(),
    live: { controllers: new Map(), answers: new Map() },
    workflows: createWorkflowCatalog((project, name) => loadProjectWorkflow({ db, dataDir: config.dataDir }, project, name)),
    mirrors: createMirrors({ db, dataDir: config.dataDir, log }),
    journalsBehind: new Set(),
  };
}

function createExecuteDeps(house: House): ExecuteDeps {
  const { config, log, launcher, proxy, redactor, feed, live, mirrors } = house;
  const { db } = house.database;
  const warn = (error: unknown, message: string): void => log.warn({ err: error }, message);
  const workbench = createWorkbench({
    git: house.git,
    launcher,
    config,
    scanner: createSecretScanner({ knownSecrets: house.knownSecrets }),
    redact: (text) => redactor.redact(text),
    warn,
  });
  const readStructured = createReadStructured(proxy);
  return {
    db,
    feed,
    log,
    workbench,
    tracesDir: join(config.dataDir, "traces"),
    defaultModel: DEFAULT_MODEL,
    runJob: createRunJob({
      hasChanges: (job, signal) => workbench.hasChanges(job.cwd, signal),
      config,
      launcher,
      agents: createAgents(config),
      proxy,
      readStructured,
      redactor,
      dataDir: config.dataDir,
      log,
    }),
    findProject: (projectId) => getProject(db, projectId),
    loadWorkflow: (name, project, options) => house.workflows.load(name, project, options),
    grantRun: (runId, project) => proxy.addScenarios(runId, toScenariosFolder(project)),
    revokeRun: (runId) => proxy.tokens.revokeRun(runId),
    mirrorRun: () => mirrors.toPostgres(),
    redact: (payload) => redactor.redactJson(payload as Json) as Record<string, unknown>,
    journalBehind: (runId) => house.journalsBehind.add(runId),
    waitForAnswer: (runId, signal) => waitForAnswer(live, runId, signal),
  };
}

/** A project's own scenarios of the rehearsal model (D8). */
const toScenariosFolder = ({ repo }: { readonly repo: string }): string => join(repo, ".harnais", "rehearsal");

function createRequests({ database: { db }, feed, redactor }: House, runs: RunService): RequestService {
  const requests: RequestService = createRequestService({
    db,
    redactText: (text) => redactor.redact(text),
    async recordChange(trx, { id, ...change }) {
      const event = { event_id: `evt_${randomHex(6)}`, ts: new Date().toISOString(), type: "request_status", name: id, payload: change };
      const seq = await insertEvent(trx, event);
      return () => feed.publish({ seq, runId: null, phaseId: null, type: event.type, name: id, payload: change, ts: event.ts });
    },
    dispatch: (request) =>
      dispatchRequest(request, {
        move: (id, to) => requests.move(id, to),
        createRun: async ({ projectId, ...run }) => runs.create({ ...run, project: await getProject(db, projectId) }),
      }),
  });
  return requests;
}

function keepRequestsInStep({ feed, log, database: { db } }: House, requests: RequestService): () => Promise<void> {
  return followRuns({
    feed,
    findRequestOf: async (runId) => (await getRun(db, runId))?.requestId ?? null,
    move: (id, to) => requests.move(id, to),
    warn: (error, message) => log.warn({ err: error }, message),
  });
}

function createApplication(
  house: House,
  { runs, requests, token, signal }: { runs: RunService; requests: RequestService; token: string; signal: AbortSignal },
): Hono {
  const { config, log, feed, git, proxy } = house;
  const { db } = house.database;
  const find = (idOrPath: string) => resolveProject({ db, git }, idOrPath, signal);
  return createApp({
    token,
    version: VERSION,
    log,
    health: async () => ({ database: house.database.kind }),
    routes: [
      eventsRoutes({ feed, signal, listAfter: (query) => listEventFrames(db, query), lastSeq: () => findLastSeq(db) }),
      runRoutes({
        runs,
        resolveProject: find,
        findProject: (idOrPath) => lookUpProject({ db, git }, idOrPath, signal),
        checkModel: async (model, project) => void (await proxy.catalog.find(model, { folder: toScenariosFolder(project) })),
      }),
      requestRoutes(requests, async (idOrPath) => {
        if (idOrPath !== undefined) return (await find(idOrPath)).id;
        const some = await listProjects(db, { after: undefined, limit: 2 });
        return some.length === 1 ? (some[0]?.id ?? null) : null;
      }),
      projectRoutes({ db, git, dataDir: config.dataDir }),
      providerRoutes({ db, secret: (name) => config.secret(name) }),
      priceRoutes(db),
    ],
  });
}
