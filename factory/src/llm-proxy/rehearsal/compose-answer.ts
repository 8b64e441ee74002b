import { randomHex } from "@harnais/contracts/ids.ts";
import type { Match } from "./match-rule.ts";
import type { Answer } from "./scenario.ts";
import { substituteJson, substituteText } from "./substitute.ts";

// An answer in the chat-completions dialect, streamed (chunks) or whole.

const CHARS_PER_TOKEN = 4;

interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What the model says to one request, before it is put on the wire. */
export interface ComposedAnswer {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: string;
  /** Null: the scenario hides it. */
  readonly usage: Readonly<Record<string, unknown>> | null;
}

/** `requestBytes`: size of the request, from which input tokens are derived when the scenario gives none. */
export function composeAnswer(match: Match, model: string, requestBytes: number): ComposedAnswer {
  const { then } = match.rule;
  const id = `chatcmpl-${randomHex(12)}`;
  const text =
    then.json === undefined ? substituteText(then.text ?? "", match.groups) : JSON.stringify(substituteJson(then.json, match.groups));
  const toolCalls = (then.tools ?? []).map((tool, index) => ({
    id: `call_${id.slice(-12)}_${index}`,
    name: tool.name,
    arguments: JSON.stringify(substituteJson(tool.args, match.groups)),
  }));
  const answerChars = text.length + toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  return {
    id,
    model,
    text,
    toolCalls,
    finishReason: then.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop"),
    usage: then.fault?.noUsage === true ? null : toUsage(then.usage ?? {}, requestBytes, answerChars),
  };
}

function toUsage(usage: NonNullable<Answer["usage"]>, requestBytes: number, answerChars: number): Record<string, unknown> {
  const cached = usage.cached ?? 0;
  const prompt = (usage.input ?? Math.ceil(requestBytes / CHARS_PER_TOKEN)) + cached;
  const completion = usage.output ?? Math.ceil(answerChars / CHARS_PER_TOKEN);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

/** The answer as one JSON body. */
export function toCompletion(answer: ComposedAnswer): object {
  const toolCalls = answer.toolCalls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  const message = {
    role: "assistant",
    content: answer.text === "" && toolCalls.length > 0 ? null : answer.text,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
  return {
    ...head(answer, "chat.completion"),
    choices: [{ index: 0, message, finish_reason: answer.finishReason }],
    ...(answer.usage !== null && { usage: answer.usage }),
  };
}

/** The answer as the events of a stream, without the closing `[DONE]`; `withUsage`: the client asked for the usage chunk. */
export function toChunks(answer: ComposedAnswer, withUsage: boolean): readonly string[] {
  const chunks: string[] = [];
  const push = (part: object): void =>
    void chunks.push(`data: ${JSON.stringify({ ...head(answer, "chat.completion.chunk"), ...part })}\n\n`);
  const delta = (content: object, finishReason: string | null = null): void =>
    push({ choices: [{ index: 0, delta: content, finish_reason: finishReason }] });
  delta({ role: "assistant", content: "" });
  for (const word of answer.text.split(/(?<=\s)(?=\S)/)) if (word !== "") delta({ content: word });
  for (const [index, call] of answer.toolCalls.entries()) {
    const half = call.arguments.length >> 1;
    delta({ tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }] });
    for (const piece of [call.arguments.slice(0, half), call.arguments.slice(half)])
      delta({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  delta({}, answer.finishReason);
  if (withUsage && answer.usage !== null) push({ choices: [], usage: answer.usage });
  return chunks;
}

function head(answer: ComposedAnswer, object: string): object {
  return { id: answer.id, object, created: Math.floor(Date.now() / 1000), model: answer.model };
}
