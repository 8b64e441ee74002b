import type { EventFrame } from "@harnais/contracts/api-bodies.ts";
import type { Json } from "@harnais/contracts/json.ts";
import { createParser } from "eventsource-parser";
import { z } from "zod";
import type { Config } from "../config.ts";
import { type ErrorCode, FactoryError, messageOf } from "../lib/errors.ts";
import { readServerFile } from "./server-file.ts";

/** The typed API as commands use it: over HTTP to a server, or the same application in this process. */
export interface Api extends AsyncDisposable {
  /** Where it is, for people: a URL, or `this process`. */
  readonly where: string;
  readonly isInProcess: boolean;
  /** Each parses the answer by `schema`. @throws FactoryError as the API answered; server-unreachable */
  get<Output>(path: string, schema: z.ZodType<Output>): Promise<Output>;
  post<Output>(path: string, body: object, schema: z.ZodType<Output>): Promise<Output>;
  patch<Output>(path: string, body: object, schema: z.ZodType<Output>): Promise<Output>;
  delete(path: string): Promise<void>;
  /** Frames of `/api/events` until `signal` aborts or the server ends the stream. */
  events(query: { readonly run?: string; readonly after?: number }, signal: AbortSignal): AsyncIterable<EventFrame>;
}

/** Answers a request to the application: `fetch` to a server, or `app.request`. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

export interface Connection {
  readonly where: string;
  readonly isInProcess: boolean;
  readonly token: string;
  readonly send: Send;
  close(): Promise<void>;
}

const HEALTH_TIMEOUT_MS = 3_000;
/** What `/health` of a Harnais says; another program that got the port says something else, and must not get the token. */
const HealthSchema = z.object({ ok: z.literal(true), version: z.string().min(1) });

/**
 * The server that serves this configuration's data folder (or HARNAIS_URL); undefined when none runs.
 * @throws server-unreachable when HARNAIS_URL names one that does not answer.
 */
export async function findServer(config: Config): Promise<Connection | undefined> {
  const named = config.server;
  const found = named === undefined ? readServerFile(config.dataDir) : { url: named.url, token: named.token ?? "" };
  if (found === undefined) return undefined;
  const url = found.url.replace(/\/+$/, "");
  const send: Send = (path, init) => fetch(`${url}${path}`, { ...init, redirect: "error" });
  try {
    const health = await send("/health", { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) });
    if (!health.ok) throw new Error(`HTTP ${health.status}`);
    if (!HealthSchema.safeParse(parseJson(await health.text())).success) throw new Error("what answers there is no Harnais");
  } catch (error) {
    if (named === undefined) return undefined;
    throw new FactoryError(
      "server-unreachable",
      `no Harnais server at ${url} (HARNAIS_URL): ${causeOf(error)}; start one with \`harnais serve\``,
      { cause: error },
    );
  }
  return { where: url, isInProcess: false, token: found.token, send, close: async () => undefined };
}

/** The typed client on a connection. */
export function createApi(connection: Connection): Api {
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await request(connection, path, {
      method,
      headers: { authorization: `Bearer ${connection.token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await readText(connection, response);
    const answer: unknown = text === "" ? {} : parseJson(text);
    if (!response.ok) throw toError(response.status, answer);
    return answer;
  };
  return {
    where: connection.where,
    isInProcess: connection.isInProcess,
    get: async (path, schema) => schema.parse(await call("GET", path)),
    post: async (path, body, schema) => schema.parse(await call("POST", path, body)),
    patch: async (path, body, schema) => schema.parse(await call("PATCH", path, body)),
    delete: async (path) => void (await call("DELETE", path)),
    events: (query, signal) => readEvents(connection, query, signal),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

async function request(connection: Connection, path: string, init: RequestInit): Promise<Response> {
  try {
    return await connection.send(path, init);
  } catch (error) {
    throw unreachable(connection, error);
  }
}

function readText(connection: Connection, response: Response): Promise<string> {
  return response.text().catch((error: unknown) => {
    throw unreachable(connection, error);
  });
}

function unreachable({ where }: Connection, error: unknown): FactoryError {
  return new FactoryError("server-unreachable", `the Harnais server at ${where} does not answer: ${causeOf(error)}`, { cause: error });
}

const ErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }) });

function toError(status: number, answer: unknown): Error {
  const parsed = ErrorBody.safeParse(answer);
  if (!parsed.success) return new FactoryError("server-unreachable", `the server answered HTTP ${status} without an error of its own`);
  const { code, message, field } = parsed.data.error;
  return new FactoryError(code as ErrorCode, message, field === undefined ? {} : { field });
}

async function* readEvents(
  connection: Connection,
  { run, after }: { readonly run?: string; readonly after?: number },
  signal: AbortSignal,
): AsyncIterable<EventFrame> {
  const query = new URLSearchParams({ ...(run === undefined ? {} : { run }), ...(after === undefined ? {} : { after: String(after) }) });
  const headers = { authorization: `Bearer ${connection.token}` };
  const response = await request(connection, `/api/events?${query.toString()}`, { headers, signal }).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (response === undefined) return;
  if (!response.ok || response.body === null) throw toError(response.status, parseJson(await readText(connection, response)));
  const frames: EventFrame[] = [];
  const parser = createParser({ onEvent: (event) => frames.push(JSON.parse(event.data) as EventFrame) });
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    while (!signal.aborted) {
      const chunk = await reader.read().catch((error: unknown) => {
        if (signal.aborted) return undefined;
        throw unreachable(connection, error);
      });
      if (chunk === undefined || chunk.done) return;
      parser.feed(decoder.decode(chunk.value, { stream: true }));
      yield* frames.splice(0);
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** `fetch failed` says nothing: its cause does. */
function causeOf(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? messageOf(error.cause) : messageOf(error);
}
