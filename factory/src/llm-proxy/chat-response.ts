import { isRecord, type JsonRecord, parseRecord } from "@harnais/contracts/json.ts";
import type { TokenUsage } from "@harnais/contracts/money.ts";
import { toTokenUsage } from "./chat-usage.ts";
import type { ResponseRecord } from "./response-record.ts";

// What a chat-completions answer says about itself, read once it has ended. Foreign bytes: nothing here throws.

const MAX_ID_CHARS = 200;
const MAX_REASON_CHARS = 64;

export interface ResponseFacts {
  readonly responseId: string | null;
  readonly modelAnswered: string | null;
  readonly finishReason: string | null;
  readonly usage: TokenUsage | null;
  /** The provider ended its answer in form: `[DONE]`, a finish reason, or a whole JSON object. */
  readonly isFinished: boolean;
  /** At least one object of the dialect was read. */
  readonly isReadable: boolean;
  /** The provider reported an error inside its answer. */
  readonly hasError: boolean;
}

/** Facts of a streamed answer: the first event gives id and model, the last ones finish reason and usage. */
export function readStreamFacts(record: ResponseRecord): ResponseFacts {
  const { head, tail } = record.parts();
  const headLines = dataLines(head);
  const tailLines = dataLines(tail);
  const first = findFirst(headLines);
  const { isDone, isReadable, ...end } = readEnd([...headLines, ...tailLines]);
  return {
    responseId: textOf(first?.["id"], MAX_ID_CHARS),
    modelAnswered: textOf(first?.["model"], MAX_ID_CHARS),
    ...end,
    isFinished: isDone || end.finishReason !== null,
    isReadable: first !== undefined || isReadable,
  };
}

/** Facts of a whole JSON answer. */
export function readJsonFacts(record: ResponseRecord): ResponseFacts {
  const { head, isWhole } = record.parts();
  const body = isWhole ? parseObject(head.toString("utf8")) : undefined;
  const choice = firstChoice(body);
  return {
    responseId: textOf(body?.["id"], MAX_ID_CHARS),
    modelAnswered: textOf(body?.["model"], MAX_ID_CHARS),
    finishReason: textOf(choice?.["finish_reason"], MAX_REASON_CHARS),
    usage: toTokenUsage(body?.["usage"]),
    isFinished: body !== undefined,
    isReadable: body !== undefined || !isWhole,
    hasError: isRecord(body?.["error"]),
  };
}

/** Characters the model wrote as far as they were seen; for a long answer the unseen middle is taken in proportion. */
export function countOutputChars(record: ResponseRecord, isStream: boolean): number {
  const { head, tail, isWhole } = record.parts();
  if (!isStream) return isWhole ? charsOf(parseObject(head.toString("utf8")), "message") : record.sizeBytes;
  const seenBytes = head.length + tail.length;
  let chars = 0;
  for (const line of [...dataLines(head), ...dataLines(tail)]) chars += charsOf(parseObject(line), "delta");
  return isWhole || seenBytes === 0 ? chars : Math.round((chars * record.sizeBytes) / seenBytes);
}

interface StreamEnd {
  readonly isDone: boolean;
  readonly finishReason: string | null;
  readonly usage: TokenUsage | null;
  readonly isReadable: boolean;
  readonly hasError: boolean;
}

/** The first event that carries an id: providers may begin with comments and notices. */
function findFirst(lines: readonly string[]): JsonRecord | undefined {
  for (const line of lines) {
    const event = parseObject(line);
    if (typeof event?.["id"] === "string") return event;
  }
  return undefined;
}

/** Reads from the end and stops as soon as both figures are known: two or three events of a normal stream. */
function readEnd(lines: readonly string[]): StreamEnd {
  let isDone = false;
  let isReadable = false;
  let hasError = false;
  let finishReason: string | null = null;
  let usage: TokenUsage | null = null;
  for (const line of lines.toReversed()) {
    if (line === "[DONE]") isDone = true;
    const event = parseObject(line);
    if (event === undefined) continue;
    isReadable = true;
    hasError ||= isRecord(event["error"]);
    const choice = firstChoice(event);
    usage ??= toTokenUsage(event["usage"]) ?? toTokenUsage(choice?.["usage"]);
    finishReason ??= textOf(choice?.["finish_reason"], MAX_REASON_CHARS);
    if (usage !== null && finishReason !== null) break;
  }
  return { isDone, finishReason, usage, isReadable, hasError };
}

function charsOf(event: JsonRecord | undefined, field: "delta" | "message"): number {
  const choice = firstChoice(event);
  const part = isRecord(choice?.[field]) ? choice[field] : {};
  const texts: unknown[] = [part["content"], part["reasoning_content"], part["reasoning"]];
  const calls: readonly unknown[] = Array.isArray(part["tool_calls"]) ? part["tool_calls"] : [];
  for (const call of calls)
    if (isRecord(call) && isRecord(call["function"])) texts.push(call["function"]["name"], call["function"]["arguments"]);
  return texts.reduce((sum: number, text) => sum + (typeof text === "string" ? text.length : 0), 0);
}

function dataLines(bytes: Buffer): readonly string[] {
  return bytes
    .toString("utf8")
    .split(/\r\n|\n|\r/)
    .flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []));
}

function firstChoice(event: JsonRecord | undefined): JsonRecord | undefined {
  const choices = event?.["choices"];
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isRecord(choice) ? choice : undefined;
}

function parseObject(text: string): JsonRecord | undefined {
  return text.trimStart().startsWith("{") ? parseRecord(text) : undefined;
}

function textOf(value: unknown, maxChars: number): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, maxChars) : null;
}
