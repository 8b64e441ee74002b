import { randomHex } from "@harnais/contracts/ids.ts";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Logger } from "pino";
import { Agent } from "undici";
import type { Config } from "../config.ts";
import { ownIdentity } from "../launcher/process-table.ts";
import { createBillJournal } from "./bill-journal.ts";
import { type ChatParts, handleChat } from "./handle-chat.ts";
import { createJobBook } from "./job-book.ts";
import { createModelCatalog } from "./model-catalog.ts";
import type { ModelRows } from "./model-rows.ts";
import { sendProxyError } from "./proxy-error.ts";
import { parseProxyPath } from "./proxy-path.ts";
import type { LlmProxy } from "./proxy-port.ts";
import { createProxyTokens } from "./proxy-tokens.ts";
import { discardRest } from "./read-body.ts";
import { createRehearsalServer, type RehearsalServer } from "./rehearsal/rehearsal-server.ts";
import { createScenarioBook } from "./rehearsal/scenario-book.ts";
import { createRunningCalls } from "./running-calls.ts";

const MINUTE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 75_000;
// A reasoning model may think for minutes before its first byte and between two.
const DEFAULT_LIMITS: UpstreamLimits = { firstByteMs: 10 * MINUTE_MS, idleMs: 5 * MINUTE_MS };

/** How long a provider may keep silent. */
export interface UpstreamLimits {
  readonly firstByteMs: number;
  readonly idleMs: number;
}

export interface LlmProxyOptions {
  readonly config: Pick<Config, "dataDir" | "rootDir" | "scenariosDir" | "secret">;
  /** `createModelRows(db)`, or rows of another source. */
  readonly rows: ModelRows;
  readonly log: Logger;
  readonly limits?: UpstreamLimits;
}

/** The proxy as the wiring sees it; start it by `listen`, or mount it under the main server by `tryHandle` and `mountAt`. */
export interface LlmProxyServer extends LlmProxy {
  /**
   * Takes the request when its path is the proxy's (`/v1…`, `/phase/:label/v1…`) and answers it; false: not ours, pass
   * it on. Called before any framework: a stream then pays for nothing but the proxy.
   */
  tryHandle(request: IncomingMessage, response: ServerResponse): boolean;
  /** Says where `tryHandle` is reached, e.g. `http://127.0.0.1:4600`. */
  mountAt(origin: string): void;
  /** Listens alone, for a command without a server; resolves to the base URL. Port 0 is any free one. */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>;
  readonly rehearsal: RehearsalServer;
  /** Ends every call that is up (billed as `proxy-killed`), then everything it opened. */
  stop(): Promise<void>;
}

/** Builds the proxy; nothing listens yet. Call `recoverBills(dataDir)` once before. */
export function createLlmProxy({ config, rows, log, limits = DEFAULT_LIMITS }: LlmProxyOptions): LlmProxyServer {
  const scenarios = createScenarioBook([
    join(config.rootDir, "factory", "scenarios"),
    ...(config.scenariosDir ? [config.scenariosDir] : []),
  ]);
  const rehearsal = createRehearsalServer({ scenarios, logFile: join(config.dataDir, "logs", "rehearsal.jsonl"), log });
  const catalog = createModelCatalog({ rows, scenarios, rehearsal, log });
  const tokens = createProxyTokens();
  const running = createRunningCalls();
  const jobs = createJobBook(config.dataDir, catalog);
  const bills = createBillJournal(config.dataDir, log);
  const dispatcher = new Agent({
    ...{ headersTimeout: limits.firstByteMs, bodyTimeout: limits.idleMs, connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false },
  });
  const parts: ChatParts = {
    tokens,
    jobs,
    bills,
    running,
    dispatcher,
    identity: ownIdentity(),
    log,
    secret: (name) => config.secret(name),
  };
  const door = createDoor(parts);

  return {
    tokens: {
      mint: (claims) => tokens.mint(claims),
      revokeRun(runId) {
        tokens.revokeRun(runId);
        running.abortRun(runId);
        jobs.forgetRun(runId);
        scenarios.forgetRun(runId);
      },
    },
    catalog,
    addScenarios: (runId, folder) => scenarios.addRun(runId, folder),
    rehearsal,
    ...door,
    async settleRun(runId) {
      if (!(await running.settled(runId))) log.warn({ runId }, "model calls of the run are still up");
    },
    async stop() {
      running.abortAll();
      await door.close();
      await rehearsal.stop();
      await dispatcher.destroy();
      bills.stop();
    },
  };
}

type Door = Pick<LlmProxyServer, "tryHandle" | "mountAt" | "listen" | "baseUrl"> & { close(): Promise<void> };

function createDoor(parts: ChatParts): Door {
  let server: Server | undefined;
  let baseUrl: string | undefined;

  function tryHandle(request: IncomingMessage, response: ServerResponse): boolean {
    const path = parseProxyPath(request.url ?? "");
    if (path === undefined) return false;
    if (path.route === "/chat/completions" && request.method === "POST") void handleChat(parts, path.label, { request, response });
    else refuseRoute(request, response);
    return true;
  }

  return {
    tryHandle,
    baseUrl() {
      if (baseUrl === undefined) throw new Error("the proxy has no address yet: call listen or mountAt first");
      return baseUrl;
    },
    mountAt(origin) {
      baseUrl = `${origin.replace(/\/+$/, "")}/v1`;
    },
    async listen({ host, port }) {
      // Longer than the clients' own: a connection that we close while a call is on its way looks like a cut.
      server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
        if (!tryHandle(request, response)) refuseRoute(request, response);
      });
      server.listen(port, host);
      await once(server, "listening");
      baseUrl = `http://${host.includes(":") ? `[${host}]` : host}:${(server.address() as AddressInfo).port}/v1`;
      return baseUrl;
    },
    async close() {
      if (server === undefined) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function refuseRoute(request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? "").split("?")[0]?.slice(0, 200) ?? "";
  const served = "POST /v1/chat/completions, also under /v1/phase/:label and /phase/:label/v1";
  const message = `${request.method ?? ""} ${path} is not served: the proxy serves ${served}`;
  sendProxyError(response, `req_${randomHex(6)}`, { status: 404, code: "not-found", message });
  discardRest(request);
}
