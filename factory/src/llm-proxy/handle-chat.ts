import { randomHex } from "@harnais/contracts/ids.ts";
import { normalizePhaseLabel, UNATTRIBUTED } from "@harnais/contracts/phase-label.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";
import type { Dispatcher } from "undici";
import type { ProcessIdentity } from "../launcher/process-table.ts";
import { type ErrorCode, FactoryError, messageOf } from "../lib/errors.ts";
import { toBill } from "./bill.ts";
import type { BillJournal } from "./bill-journal.ts";
import type { BillOpening } from "./bill-line.ts";
import { answerUnreachable, toCallEnd } from "./chat-call.ts";
import { type ChatRequest, parseChatRequest, toUpstreamBody } from "./chat-request.ts";
import type { BilledJob, JobBook } from "./job-book.ts";
import { sendProxyError } from "./proxy-error.ts";
import { toUpstreamHeaders } from "./proxy-headers.ts";
import type { ProxyClaims } from "./proxy-port.ts";
import type { CheckedTokens } from "./proxy-tokens.ts";
import { discardRest, readBody } from "./read-body.ts";
import { relay } from "./relay.ts";
import { createResponseRecord } from "./response-record.ts";
import type { RunningCalls } from "./running-calls.ts";
import { createUsageFilter } from "./usage-filter.ts";

const MAX_BODY_BYTES = 32 * 1024 * 1024;
// A whole JSON answer is parsed for its figures; of a stream the two ends are enough.
const JSON_LIMITS = { headBytes: 8 * 1024 * 1024, tailBytes: 0 };
const STREAM_LIMITS = { headBytes: 128 * 1024, tailBytes: 128 * 1024 };

export interface ChatParts {
  readonly tokens: CheckedTokens;
  readonly jobs: JobBook;
  readonly bills: BillJournal;
  readonly running: RunningCalls;
  readonly dispatcher: Dispatcher;
  readonly identity: ProcessIdentity;
  readonly log: Logger;
  /** The value of a provider's key by the name of its variable. */
  secret(name: string): string | undefined;
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly arrivedAtMs: number;
  /** True from the moment on when the provider may have got it: then only a cut is an honest failure (ADR 0003). */
  mayHaveGoneUp: boolean;
}

/** One `POST …/chat/completions`: checked in the order of X2, then passed through and billed. Never rejects. */
export async function handleChat(
  parts: ChatParts,
  label: string,
  { request, response }: Pick<Call, "request" | "response">,
): Promise<void> {
  const call: Call = { request, response, arrivedAtMs: performance.now(), mayHaveGoneUp: false };
  try {
    const claims = checkToken(parts.tokens, request);
    const bytes = await readWhole(request);
    if (bytes === undefined || response.destroyed) return;
    const chat = readChat(bytes, request);
    const job = await parts.jobs.find(claims);
    const body = writeBody(chat, claims.model);
    const key = findKey(job, parts);
    if (!response.destroyed) passThrough(parts, { call, claims, label, chat, job, body, key });
  } catch (error) {
    refuse(parts, call, error);
  }
}

interface CheckedCall {
  readonly call: Call;
  readonly claims: ProxyClaims;
  readonly label: string;
  readonly chat: ChatRequest;
  readonly job: BilledJob;
  readonly body: Buffer;
  readonly key: string | null;
}

function passThrough(parts: ChatParts, checked: CheckedCall): void {
  const { call, claims, chat, job, body, key } = checked;
  const target = new URL(`${job.route.baseUrl}/chat/completions`);
  const headers = toUpstreamHeaders(call.request.headers, key);
  const opening = toOpening(parts, checked);
  parts.bills.open(opening);
  call.mayHaveGoneUp = true;
  const sentAtMs = performance.now();
  const record = createResponseRecord(chat.stream ? STREAM_LIMITS : JSON_LIMITS);
  let isSettled = false;
  let remove = (): void => undefined;
  const running = relay(call.response, {
    dispatcher: parts.dispatcher,
    target,
    headers,
    body,
    requestId: opening.id,
    record,
    filter: chat.stream && !chat.wantsUsage ? createUsageFilter() : undefined,
    settle(end) {
      const callEnd = toCallEnd(end, record, { arrivedAtMs: call.arrivedAtMs, sentAtMs, endedAtMs: performance.now() });
      parts.bills.close(toBill(opening, callEnd));
      isSettled = true;
      remove();
      answerUnreachable(call.response, { bill: opening, end, origin: target.origin });
      return end.outcome === "complete" ? callEnd.outcome !== "upstream-cut" : call.response.writableEnded;
    },
  });
  // A request that cannot even be written has ended by now.
  if (!isSettled) remove = parts.running.add(claims.runId, running);
}

function toOpening({ identity }: ChatParts, { claims, label, chat, job, body }: CheckedCall): BillOpening {
  const seq = job.nextNumber();
  const { info, dialect } = job.route;
  return {
    id: `${claims.jobId}-c${seq}`,
    run_id: claims.runId,
    phase_id: claims.phaseId,
    label: claims.labels.some((declared) => normalizePhaseLabel(declared) === label) ? label : UNATTRIBUTED,
    attempt: claims.attempt,
    session_id: claims.sessionId,
    job_id: claims.jobId,
    seq,
    turn: chat.turn,
    agent: claims.agent,
    provider: claims.provider,
    model_asked: claims.model,
    dialect,
    stream: chat.stream,
    started_at: new Date().toISOString(),
    message_count: chat.messageCount,
    tool_count: chat.toolCount,
    request_bytes: body.length,
    process: { pid: identity.pid, started: identity.startTime },
    rehearsal: info.rehearsal,
    price: info.price,
    price_version: info.priceVersion,
  };
}

function checkToken(tokens: CheckedTokens, { headers }: IncomingMessage): ProxyClaims {
  const bearer = /^bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
  const apiKey = headers["x-api-key"];
  const checked = tokens.check(bearer ?? (typeof apiKey === "string" ? apiKey : undefined));
  if (checked.type === "refused") throw new FactoryError("unauthorized", checked.reason);
  return checked.claims;
}

async function readWhole(request: IncomingMessage): Promise<Buffer | undefined> {
  const read = await readBody(request, MAX_BODY_BYTES);
  if (read.type === "too-large") throw new FactoryError("too-large", `the body is larger than ${MAX_BODY_BYTES} bytes (32 MiB)`);
  return read.type === "body" ? read.bytes : undefined;
}

function readChat(bytes: Buffer, { headers }: IncomingMessage): ChatRequest {
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new FactoryError("bad-input", `content-encoding ${encoding}: send the body uncompressed`);
  const chat = parseChatRequest(bytes);
  if (chat === undefined) throw new FactoryError("bad-input", "the body is not a JSON object");
  return chat;
}

function writeBody(chat: ChatRequest, model: string): Buffer {
  try {
    return toUpstreamBody(chat, model);
  } catch (error) {
    throw new FactoryError("bad-input", `the body is nested too deeply (${messageOf(error)})`, { cause: error });
  }
}

function findKey({ route }: BilledJob, { secret }: ChatParts): string | null {
  if (route.keyEnv === null) return null;
  const key = secret(route.keyEnv);
  if (key === undefined || key.trim() === "")
    throw new FactoryError(
      "part-missing",
      `no key for provider ${route.info.provider}: set ${route.keyEnv} in the factory's environment or HARNAIS_ENV_FILE`,
    );
  return key.trim();
}

const STATUSES: Partial<Record<ErrorCode, number>> = {
  unauthorized: 401,
  "too-large": 413,
  "bad-input": 400,
  "unknown-model": 404,
  "unknown-provider": 404,
  // The agent cannot mend it and must not try again.
  "part-missing": 424,
  "bad-scenario": 424,
  storage: 503,
  "database-unreachable": 503,
};

/** Answers why the call did not go up. A bug is logged with its stack and told apart, without its text. */
function refuse({ log }: ChatParts, { request, response, mayHaveGoneUp }: Call, error: unknown): void {
  const known = error instanceof FactoryError ? error : undefined;
  const status = known === undefined ? 500 : (STATUSES[known.code] ?? 503);
  if (known === undefined) log.error({ err: error }, "a model call ended by a bug");
  else if (status >= 500) log.error({ err: error }, "a model call was refused");
  if (mayHaveGoneUp) return void response.destroy();
  const answer = known ?? { code: "bug", message: "an error of the factory: its log has the details" };
  sendProxyError(response, `req_${randomHex(6)}`, { status, code: answer.code, message: answer.message });
  discardRest(request);
}
