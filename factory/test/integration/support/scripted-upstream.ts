import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that reached the upstream; `closed` resolves when its connection is gone before the answer's end. */
export interface UpstreamRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly raw: Buffer;
  readonly body: Record<string, unknown>;
  readonly closed: Promise<void>;
}

export interface ScriptedUpstream {
  readonly baseUrl: string;
  readonly requests: readonly UpstreamRequest[];
  /** The nth request (from 1), once it has come. */
  nth(n: number): Promise<UpstreamRequest>;
  stop(): Promise<void>;
}

/** A provider on the wire whose every answer is written by the test, byte by byte. */
export async function startScriptedUpstream(answer: (seen: UpstreamRequest, n: number) => void): Promise<ScriptedUpstream> {
  const requests: UpstreamRequest[] = [];
  const arrivals = new EventEmitter();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    const closed = new Promise<void>((resolve) => response.once("close", () => resolve()));
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const raw = Buffer.concat(chunks);
      const seen = { request, response, raw, body: JSON.parse(raw.toString("utf8")) as Record<string, unknown>, closed };
      requests.push(seen);
      arrivals.emit("request");
      answer(seen, requests.length);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async nth(n) {
      while (requests.length < n) await once(arrivals, "request");
      const seen = requests[n - 1];
      if (seen === undefined) throw new Error("unreachable");
      return seen;
    },
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** One event of a stream. */
export const event = (part: object): string =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", model: "m-2", ...part })}\n\n`;
export const textEvent = (content: string): string => event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
export const stopEvent = (): string => event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
export const usageEvent = (usage: object): string => event({ choices: [], usage });
export const DONE = "data: [DONE]\n\n";

export const USAGE = {
  prompt_tokens: 1200,
  completion_tokens: 50,
  total_tokens: 1250,
  prompt_tokens_details: { cached_tokens: 400 },
  completion_tokens_details: { reasoning_tokens: 20 },
};

/** A whole stream of the dialect, in its pieces. */
export const STREAM: readonly string[] = [": a comment\n\n", textEvent("Hé"), textEvent("llo 🙂"), stopEvent(), usageEvent(USAGE), DONE];

export function startStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
}
