import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request as startRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bill } from "@harnais/contracts/bill.ts";
import { BillLineSchema } from "@harnais/contracts/journal-line.ts";
import type { Price } from "@harnais/contracts/money.ts";
import { pino } from "pino";
import { createLlmProxy, type LlmProxyServer, type UpstreamLimits } from "../../../src/llm-proxy/llm-proxy.ts";
import type { ModelRows } from "../../../src/llm-proxy/model-rows.ts";
import type { ProxyClaims } from "../../../src/llm-proxy/proxy-port.ts";

export const PRICE: Price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 };
export const KEY = "provider-key-of-the-test";

export interface TestScenario {
  readonly name: string;
  readonly [key: string]: unknown;
}

export interface HouseOptions {
  /** Address of the provider `wire`; its key is in WIRE_KEY, its model `m` has PRICE, others have none. */
  readonly upstream?: string;
  readonly scenarios?: readonly TestScenario[];
  readonly limits?: UpstreamLimits;
  readonly secrets?: Readonly<Record<string, string>>;
  /** In place of the secrets, or of the provider's row. */
  secret?(name: string): string | undefined;
  readonly findProvider?: ModelRows["findProvider"];
  /** Lines of the log. */
  readonly logged?: string[];
}

/** The proxy alone on a port, on a temporary data folder. */
export interface ProxyHouse {
  readonly dataDir: string;
  readonly proxy: LlmProxyServer;
  readonly origin: string;
  token(claims?: Partial<ProxyClaims>): string;
  /** Posts to `/v1/chat/completions`, or to `path`. */
  post(
    body: unknown,
    options?: { readonly token?: string; readonly path?: string; readonly headers?: Record<string, string> },
  ): Promise<Response>;
  /** The same by a bare client that can be cut off. */
  open(body: unknown, token?: string): OpenCall;
  openings(): readonly Record<string, unknown>[];
  bills(): readonly Bill[];
  close(): Promise<void>;
}

export interface OpenCall {
  readonly request: ClientRequest;
  readonly response: Promise<IncomingMessage>;
}

const MINUTE_MS = 60_000;
export const RUN_ID = "a1b2c3d4";
export const JOB_ID = "a1b2c3d4-01-a1";

export async function openProxyHouse(options: HouseOptions = {}): Promise<ProxyHouse> {
  const dataDir = mkdtempSync(join(tmpdir(), "harnais-proxy-"));
  const scenariosDir = join(dataDir, "scenarios");
  mkdirSync(scenariosDir);
  // JSON is YAML.
  for (const scenario of options.scenarios ?? []) writeFileSync(join(scenariosDir, `${scenario.name}.yaml`), JSON.stringify(scenario));
  const secrets = options.secrets ?? { WIRE_KEY: KEY };
  const proxy = createLlmProxy({
    config: { dataDir, rootDir: dataDir, scenariosDir, secret: options.secret ?? ((name) => secrets[name]) },
    rows: {
      findProvider: async (name) =>
        options.findProvider !== undefined
          ? options.findProvider(name)
          : name === "wire" && options.upstream !== undefined
            ? { name, dialect: "chat-completions", baseUrl: options.upstream, keyEnv: "WIRE_KEY", enabled: true }
            : undefined,
      findPrice: async (provider, model) =>
        model === "m" ? { provider, model, version: "v1", validFrom: "2026-01-01T00:00:00.000Z", ...PRICE } : undefined,
    },
    log: options.logged === undefined ? pino({ level: "silent" }) : pino({}, { write: (line: string) => void options.logged?.push(line) }),
    ...(options.limits !== undefined && { limits: options.limits }),
  });
  const origin = new URL(await proxy.listen({ host: "127.0.0.1", port: 0 })).origin;
  const token = (claims: Partial<ProxyClaims> = {}): string =>
    proxy.tokens.mint({ ...CLAIMS, expiresAtMs: Date.now() + MINUTE_MS, ...claims });
  return {
    dataDir,
    proxy,
    origin,
    token,
    post: (body, { token: given = token(), path = "/v1/chat/completions", headers = {} } = {}) =>
      fetch(`${origin}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${given}`, "content-type": "application/json", ...headers },
        body: typeof body === "string" || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
      }),
    open: (body, given = token()) => openCall(origin, body, given),
    openings: () => readBillLines(dataDir, "bill_open"),
    bills: () => readBillLines(dataDir, "bill_close") as unknown as readonly Bill[],
    async close() {
      await proxy.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

const CLAIMS: Omit<ProxyClaims, "expiresAtMs"> = {
  runId: RUN_ID,
  phaseId: "a1b2c3d4-01",
  attempt: 1,
  sessionId: "session-1",
  jobId: JOB_ID,
  labels: ["agent"],
  agent: "pi",
  provider: "wire",
  model: "m",
};

function openCall(origin: string, body: unknown, token: string): OpenCall {
  const request = startRequest(`${origin}/v1/chat/completions`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve);
    request.once("error", reject);
  });
  response.catch(() => undefined);
  request.end(JSON.stringify(body));
  return { request, response };
}

/** Reads a body to its end. @throws when it is cut off. */
export async function readAll(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Payloads of the bill lines of a data folder; every line must be a valid one. */
export function readBillLines(dataDir: string, type: "bill_open" | "bill_close"): readonly Record<string, unknown>[] {
  const folder = join(dataDir, "traces", "bills");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => BillLineSchema.parse(JSON.parse(line)))
    .filter((line) => line.type === type)
    .map((line) => line.payload);
}

export const HELLO = { model: "anything", messages: [{ role: "user", content: "hello" }] };
export const HELLO_STREAM = { ...HELLO, stream: true, stream_options: { include_usage: true } };
