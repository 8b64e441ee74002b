import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request as it came over the wire. */
export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: {
    readonly messages: readonly { readonly role: string; readonly content: unknown }[];
    readonly tools?: readonly unknown[];
  };
}

export interface FakeProvider {
  readonly baseUrl: string;
  readonly requests: readonly SeenRequest[];
  stop(): Promise<void>;
}

export type FakeAnswer =
  | { readonly text: string; readonly usage?: { readonly input: number; readonly output: number }; readonly finishReason?: string }
  | { readonly status: number; readonly message: string };

/** A provider of the chat-completions dialect whose nth request gets what `answer` says; it keeps what it was asked. */
export async function startFakeProvider(answer: (n: number, request: SeenRequest) => FakeAnswer): Promise<FakeProvider> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void readJson(request).then((body) => {
      const seen = { path: request.url ?? "", headers: request.headers, body: body as SeenRequest["body"] };
      requests.push(seen);
      send(response, answer(requests.length, seen), requests.length);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

function send(response: ServerResponse, answer: FakeAnswer, n: number): void {
  if ("status" in answer) {
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: answer.message, type: "fake", code: answer.status } }));
    return;
  }
  const base = { id: `chatcmpl-fake-${n}`, object: "chat.completion.chunk", created: 1_700_000_000, model: "fake" };
  const write = (part: object): void => void response.write(`data: ${JSON.stringify({ ...base, ...part })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  write({ choices: [{ index: 0, delta: { role: "assistant", content: answer.text }, finish_reason: null }] });
  write({ choices: [{ index: 0, delta: {}, finish_reason: answer.finishReason ?? "stop" }] });
  if (answer.usage !== undefined) {
    const { input, output } = answer.usage;
    write({ choices: [], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } });
  }
  response.end("data: [DONE]\n\n");
}
