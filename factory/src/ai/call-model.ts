import { toFactoryJobId } from "@harnais/contracts/ids.ts";
import type { Json } from "@harnais/contracts/json.ts";
import type { Price } from "@harnais/contracts/money.ts";
import { phasedBaseUrl } from "@harnais/contracts/phase-label.ts";
import type { CountedCall } from "@harnais/contracts/runner-event.ts";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { messageOf } from "../lib/errors.ts";
import type { LlmProxy } from "../llm-proxy/proxy-port.ts";
import { parseCompletion, toRefusedCall, toUnknownCall } from "./completion.ts";
import { toRetryDelayMs } from "./retry-delay.ts";

const MAX_TRIES = 3;
const MINUTE_MS = 60_000;
const CALL_TIMEOUT_MS = 5 * MINUTE_MS;
const TOKEN_LIFE_MS = 20 * MINUTE_MS;
const MAX_ANSWER_CHARS = 16 * 1024 * 1024;

/** One question of the factory itself to a model. */
export interface ModelQuestion {
  /** Whose money it is. */
  readonly runId: string;
  readonly phaseId: string;
  readonly attempt: number;
  /** Phase label it is billed to. */
  readonly label: string;
  /** `provider/id`. */
  readonly model: string;
  readonly system: string;
  readonly user: string;
  /** The dialect's `response_format`. */
  readonly responseFormat?: Json;
}

/** `calls`: every try that was billed, for the runner's book. */
export type ModelAnswer =
  | { readonly type: "answered"; readonly text: string; readonly calls: readonly CountedCall[] }
  | {
      readonly type: "failed";
      /** HTTP status of the last try; null when no answer came. */
      readonly status: number | null;
      readonly reason: string;
      readonly calls: readonly CountedCall[];
    };

/**
 * Asks a model through the proxy, billed to the run's factory job. Tries again before the first byte (429, 5xx, no
 * connection), at most twice, when the provider's Retry-After allows. Never rejects; an abort is a failure.
 */
export async function callModel(proxy: LlmProxy, question: ModelQuestion, signal: AbortSignal): Promise<ModelAnswer> {
  const calls: CountedCall[] = [];
  try {
    const request = await prepare(proxy, question);
    for (let attempt = 1; ; attempt++) {
      const outcome = await tryOnce(request, signal);
      if (outcome.call !== undefined) calls.push(outcome.call);
      if (outcome.type === "answered") return { type: "answered", text: outcome.text, calls };
      const waitMs = outcome.mayRetry && attempt < MAX_TRIES ? toRetryDelayMs(attempt + 1, outcome.retryAfter, Date.now()) : undefined;
      if (waitMs === undefined || signal.aborted) return { type: "failed", status: outcome.status, reason: outcome.reason, calls };
      await delay(waitMs, undefined, { signal });
    }
  } catch (error) {
    return { type: "failed", status: null, reason: signal.aborted ? "cancelled" : messageOf(error), calls };
  }
}

interface PreparedRequest {
  readonly url: string;
  readonly token: string;
  readonly jobId: string;
  readonly label: string;
  readonly body: string;
  readonly price: Price | null;
}

async function prepare(proxy: LlmProxy, question: ModelQuestion): Promise<PreparedRequest> {
  const { price, provider, model } = await proxy.catalog.find(question.model, { runId: question.runId });
  const { runId, phaseId, attempt, label } = question;
  const jobId = toFactoryJobId(runId);
  const token = proxy.tokens.mint({
    ...{ runId, phaseId, attempt, jobId, provider, model, sessionId: null, agent: null },
    labels: [label],
    expiresAtMs: Date.now() + TOKEN_LIFE_MS,
  });
  const body = JSON.stringify({
    model,
    messages: [
      { role: "system", content: question.system },
      { role: "user", content: question.user },
    ],
    ...(question.responseFormat !== undefined && { response_format: question.responseFormat }),
  });
  return { url: `${phasedBaseUrl(proxy.baseUrl(), label, true)}/chat/completions`, token, jobId, label, body, price };
}

type Try =
  | { readonly type: "answered"; readonly text: string; readonly call: CountedCall }
  | {
      readonly type: "failed";
      readonly status: number | null;
      readonly reason: string;
      readonly mayRetry: boolean;
      readonly retryAfter: string | null;
      /** Undefined: the proxy itself refused, nothing was billed. */
      readonly call: CountedCall | undefined;
    };

async function tryOnce(request: PreparedRequest, signal: AbortSignal): Promise<Try> {
  const { url, token, jobId, label, body, price } = request;
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
    });
  } catch (error) {
    const wasBilled = !isRefusedConnection(error);
    return {
      ...failed(null, signal.aborted ? "cancelled" : describe(error)),
      mayRetry: !signal.aborted,
      call: wasBilled ? toUnknownCall(label) : undefined,
    };
  }
  const isBilled = response.headers.get("x-request-id")?.startsWith(`${jobId}-c`) === true;
  const text = await readText(response);
  if (response.ok) {
    const completion = text === undefined ? undefined : parseCompletion(text, label, price);
    if (completion !== undefined) return { type: "answered", ...completion };
    return {
      ...failed(response.status, text === undefined ? "the answer broke off" : "the answer is not a completion"),
      call: toUnknownCall(label),
    };
  }
  return {
    ...failed(response.status, `HTTP ${response.status}: ${readMessage(text ?? "")}`),
    mayRetry: isBilled && (response.status === 429 || response.status >= 500),
    retryAfter: response.headers.get("retry-after"),
    call: isBilled ? toRefusedCall(label) : undefined,
  };
}

function failed(status: number | null, reason: string): Extract<Try, { type: "failed" }> {
  return { type: "failed", status, reason, mayRetry: false, retryAfter: null, call: undefined };
}

/** Undefined when the body broke off or is too large. */
async function readText(response: Response): Promise<string | undefined> {
  try {
    let text = "";
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.length > MAX_ANSWER_CHARS) return undefined;
    }
    return text;
  } catch {
    return undefined;
  }
}

const ErrorBodySchema = z.object({ error: z.object({ message: z.string() }) });
const MAX_MESSAGE_CHARS = 500;

function readMessage(body: string): string {
  try {
    const parsed = ErrorBodySchema.safeParse(JSON.parse(body));
    if (parsed.success) return parsed.data.error.message.slice(0, MAX_MESSAGE_CHARS);
  } catch {
    // Not JSON: its head says more than nothing.
  }
  return body.slice(0, MAX_MESSAGE_CHARS);
}

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `the proxy did not answer (${messageOf(error)}${cause})`;
}

function isRefusedConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
}
