import { isRecord, parseRecord } from "@harnais/contracts/json.ts";

/** A chat-completions request as the proxy reads it. */
export interface ChatRequest {
  readonly body: Readonly<Record<string, unknown>>;
  readonly stream: boolean;
  /** The client asked for the usage chunk itself: its stream is passed on byte by byte. */
  readonly wantsUsage: boolean;
  readonly messageCount: number | null;
  readonly toolCount: number | null;
  /** Assistant messages + 1; null without messages. */
  readonly turn: number | null;
}

/** Reads a body; undefined when it is not a JSON object. */
export function parseChatRequest(bytes: Buffer): ChatRequest | undefined {
  const body = parseRecord(bytes.toString("utf8"));
  if (body === undefined) return undefined;
  const messages = Array.isArray(body["messages"]) ? (body["messages"] as readonly unknown[]) : null;
  return {
    body,
    stream: body["stream"] === true,
    wantsUsage: isRecord(body["stream_options"]) && body["stream_options"]["include_usage"] === true,
    messageCount: messages === null ? null : messages.length,
    toolCount: Array.isArray(body["tools"]) ? body["tools"].length : 0,
    turn: messages === null ? null : messages.filter((message) => isRecord(message) && message["role"] === "assistant").length + 1,
  };
}

/**
 * The body that goes up: the model is the claim's and a stream reports its usage. Always written anew: of a doubled
 * `model` key our parser and the provider's might take different ones.
 * @throws RangeError when it is nested too deeply to be written.
 */
export function toUpstreamBody(request: ChatRequest, model: string): Buffer {
  const options = isRecord(request.body["stream_options"]) ? request.body["stream_options"] : {};
  return Buffer.from(
    JSON.stringify({
      ...request.body,
      model,
      ...(request.stream && { stream_options: { ...options, include_usage: true } }),
    }),
  );
}
