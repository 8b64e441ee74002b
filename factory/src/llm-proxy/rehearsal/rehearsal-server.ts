import { isRecord, parseRecord } from "@harnais/contracts/json.ts";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { FactoryError, messageOf } from "../../lib/errors.ts";
import { openJournal } from "../../lib/journal.ts";
import type { ModelScope } from "../proxy-port.ts";
import { readBody } from "../read-body.ts";
import { type ComposedAnswer, composeAnswer, toChunks, toCompletion } from "./compose-answer.ts";
import { type Conversation, findRule, toConversation } from "./match-rule.ts";
import type { Answer, Scenario } from "./scenario.ts";
import type { ScenarioBook } from "./scenario-book.ts";
import { substituteText } from "./substitute.ts";

const MAX_BODY_BYTES = 64 * 1024 * 1024;
const DEFAULT_STALL_CHUNKS = 2;
const SHOWN_CHARS = 200;

const PATH = /^\/v1(?:\/run\/([0-9a-f]{1,64}))?\/chat\/completions(?:\?|$)/;

/** The server's base URL as a run is told it, so that its project's scenarios are found. */
export function toScopedUrl(baseUrl: string, scope: ModelScope | undefined): string {
  return scope !== undefined && "runId" in scope ? `${baseUrl}/run/${scope.runId}` : baseUrl;
}

export interface RehearsalOptions {
  readonly scenarios: ScenarioBook;
  /** Journal of requests, one line each: `{ts, n, model, turn, rule}`; `rule` is null when none matched. */
  readonly logFile: string;
  readonly log: Logger;
}

/** The rehearsal model: a provider that needs no key and costs nothing, on a port of its own on 127.0.0.1. */
export interface RehearsalServer {
  /** Starts it once; resolves to its base URL (`http://127.0.0.1:<port>/v1`). */
  start(): Promise<string>;
  /** Requests answered so far by this process, whatever the answer. */
  count(): number;
  stop(): Promise<void>;
}

/** Speaks chat completions from scenario files; the model id is the scenario's name. */
export function createRehearsalServer(options: RehearsalOptions): RehearsalServer {
  let requests = 0;
  let server: Server | undefined;
  let started: Promise<string> | undefined;
  const note = createNote(options);

  async function listen(): Promise<string> {
    server = createServer((request, response) => {
      answer(request, response).catch((error: unknown) => {
        options.log.error({ error: messageOf(error) }, "rehearsal request failed");
        response.destroy();
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const read = await readBody(request, MAX_BODY_BYTES);
    if (read.type !== "body") return void response.destroy();
    const n = ++requests;
    const path = PATH.exec(request.url ?? "");
    if (request.method !== "POST" || path === null) return sendError(response, 404, "the rehearsal model serves POST /v1/chat/completions");
    const body = parseRecord(read.bytes.toString("utf8"));
    if (body === undefined) return sendError(response, 400, "the body is not a JSON object");
    const scope = path[1] === undefined ? undefined : { runId: path[1] };
    await rehearse(options.scenarios, { scope, body, sizeBytes: read.bytes.length, n, response, note });
  }

  return {
    start: () => (started ??= listen()),
    count: () => requests,
    async stop() {
      await started?.catch(() => undefined);
      note.close();
      if (server === undefined) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Exchange {
  readonly scope: ModelScope | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  readonly sizeBytes: number;
  readonly n: number;
  readonly response: ServerResponse;
  readonly note: Note;
}

async function rehearse(scenarios: ScenarioBook, exchange: Exchange): Promise<void> {
  const { body, response, n, note } = exchange;
  const model = typeof body["model"] === "string" ? body["model"] : "";
  const conversation = toConversation(body);
  let scenario: Scenario;
  try {
    scenario = scenarios.find(model, exchange.scope);
  } catch (error) {
    note.write({ n, model, turn: conversation.turn, rule: null });
    if (!(error instanceof FactoryError)) throw error;
    return sendError(response, error.code === "unknown-model" ? 404 : 500, error.message);
  }
  const match = findRule(scenario.rules, conversation);
  note.write({ n, model, turn: conversation.turn, rule: match?.number ?? null });
  if (match === undefined) return sendError(response, 500, `${scenario.file}: no rule matches ${describe(conversation)}`);
  const { then } = match.rule;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  await pause(then.delayMs, gone.signal);
  if (then.fault?.status !== undefined)
    return sendError(response, then.fault.status, substituteText(then.text ?? `rehearsal fault ${then.fault.status}`, match.groups));
  const answer = composeAnswer(match, model, exchange.sizeBytes);
  if (body["stream"] === true) return sendStream(response, toChunks(answer, wantsUsage(body)), then, gone.signal);
  return sendWhole(response, answer, then);
}

async function sendStream(response: ServerResponse, chunks: readonly string[], then: Answer, gone: AbortSignal): Promise<void> {
  const cutAfter = then.fault?.cutAfterChunks === undefined ? Number.POSITIVE_INFINITY : Math.min(then.fault.cutAfterChunks, chunks.length);
  const stallAfter = then.fault?.stall === true ? DEFAULT_STALL_CHUNKS : (then.fault?.stall ?? Number.POSITIVE_INFINITY);
  if (stallAfter === 0) return;
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
  for (const [index, chunk] of chunks.entries()) {
    if (gone.aborted || index >= stallAfter) return;
    if (index >= cutAfter) return void response.destroy();
    if (index > 0) await pause(then.chunkMs, gone);
    // A cut throws away what has not left yet: the chunks before it are sent first.
    if (index === cutAfter - 1) await new Promise((resolve) => response.write(chunk, resolve));
    else if (!response.write(chunk) && !gone.aborted) await once(response, "drain", { signal: gone }).catch(() => undefined);
  }
  if (cutAfter !== Number.POSITIVE_INFINITY) return void response.destroy();
  if (stallAfter === Number.POSITIVE_INFINITY) response.end("data: [DONE]\n\n");
}

function sendWhole(response: ServerResponse, answer: ComposedAnswer, then: Answer): void {
  if (then.fault?.stall !== undefined) return;
  const body = Buffer.from(JSON.stringify(toCompletion(answer)));
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  if (then.fault?.cutAfterChunks === undefined) return void response.end(body);
  response.write(body.subarray(0, body.length >> 1), () => response.destroy());
}

function sendError(response: ServerResponse, status: number, message: string): void {
  const body = Buffer.from(JSON.stringify({ error: { message, type: "rehearsal", code: status } }));
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

function describe({ turn, user, toolResult }: Conversation): string {
  const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_CHARS));
  return `turn ${turn}, user ${shown(user)}${toolResult === undefined ? "" : `, tool result ${shown(toolResult)}`}`;
}

function wantsUsage(body: Readonly<Record<string, unknown>>): boolean {
  const options = body["stream_options"];
  return isRecord(options) && options["include_usage"] === true;
}

async function pause(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (ms !== undefined && ms > 0) await delay(ms, undefined, { signal }).catch(() => undefined);
}

interface Note {
  write(line: { readonly n: number; readonly model: string; readonly turn: number; readonly rule: number | null }): void;
  close(): void;
}

/** The request journal is a probe's file: when it cannot be written the work goes on, with one warning. */
function createNote({ logFile, log }: RehearsalOptions): Note {
  let journal: ReturnType<typeof openJournal> | undefined;
  let isWarned = false;
  return {
    write(line) {
      try {
        journal ??= openJournal(logFile);
        journal.append({ ts: new Date().toISOString(), ...line });
      } catch (error) {
        if (!isWarned) log.warn({ file: logFile, error: messageOf(error) }, "rehearsal requests are not written down");
        isWarned = true;
      }
    },
    close() {
      journal?.close();
      journal = undefined;
    },
  };
}
