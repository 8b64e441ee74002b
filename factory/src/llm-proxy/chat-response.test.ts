import { expect, test } from "vitest";
import { countOutputChars, readJsonFacts, readStreamFacts } from "./chat-response.ts";
import { toTokenUsage } from "./chat-usage.ts";
import { createResponseRecord, type RecordLimits, type ResponseRecord } from "./response-record.ts";

const LIMITS = { headBytes: 128 * 1024, tailBytes: 128 * 1024 };

function record(text: string | Buffer, limits: RecordLimits = LIMITS, pieceBytes = 100): ResponseRecord {
  const kept = createResponseRecord(limits);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) kept.push(bytes.subarray(at, at + pieceBytes));
  return kept;
}

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const delta = (content: string, finish: string | null = null): string =>
  data({ id: "r", model: "m", choices: [{ delta: { content }, finish_reason: finish }] });
const USAGE = { prompt_tokens: 10, completion_tokens: 5 };

test("the facts of a stream are found whatever its line ends and notices", () => {
  const text = `: ping\r\n\r\ndata: {"notice":1}\r\n\r\n${delta("a").replaceAll("\n", "\r\n")}${delta("", "length")}${data({ choices: [], usage: USAGE })}data: [DONE]\n\n`;
  expect(readStreamFacts(record(text))).toEqual({
    ...{ responseId: "r", modelAnswered: "m", finishReason: "length", isFinished: true, isReadable: true, hasError: false },
    usage: { input: 10, output: 5, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, reasoning: 0 },
  });
});

test("of a stream far larger than what is kept, both ends are read and the middle is taken in proportion", () => {
  const limits = { headBytes: 4000, tailBytes: 4000 };
  const events = 5000;
  const text = delta("abcd").repeat(events) + delta("", "stop") + data({ choices: [], usage: USAGE });
  const kept = record(text, limits);
  expect(kept.parts().isWhole).toBe(false);
  expect(kept.parts().head.length + kept.parts().tail.length).toBeLessThan(8300);
  expect(readStreamFacts(kept)).toMatchObject({ responseId: "r", finishReason: "stop", usage: { input: 10, output: 5 } });
  const chars = countOutputChars(kept, true);
  expect(Math.abs(chars - events * 4) / (events * 4)).toBeLessThan(0.05);
});

test("a truncated stream gives what was seen, at every length, without an end that was not there", () => {
  const text = delta("abcd") + delta("efgh") + delta("", "stop") + data({ choices: [], usage: USAGE }) + "data: [DONE]\n\n";
  const cuts = Array.from({ length: text.length }, (_, length) => record(text.slice(0, length)));
  const finished = cuts.findIndex((kept) => readStreamFacts(kept).isFinished);
  const billed = cuts.findIndex((kept) => readStreamFacts(kept).usage !== null);
  const ends = ['"stop"', '"usage"'].map((word) => text.indexOf("\n", text.indexOf(word)));
  expect([finished, billed]).toEqual(ends);
  expect([...new Set(cuts.map((kept) => countOutputChars(kept, true)))]).toEqual([0, 4, 8]);
});

test.each([
  ["nothing", ""],
  ["a page", "<html>"],
  ["bytes", Buffer.from([0xff, 0x00, 0x80])],
  ["empty events", "data:\n\ndata:\n\n"],
  ["a list", "data: []\n\n"],
  ["null choices", 'data: {"choices":null}\n\n'],
  ["wrong types", 'data: {"id":1,"model":[],"choices":[{"delta":"x","finish_reason":{}}],"usage":"many"}\n\n'],
  ["depth", `data: ${'{"choices":['.repeat(10_000)}`],
  ["prototype keys", 'data: {"__proto__":{"usage":{"prompt_tokens":1,"completion_tokens":1}}}\n\n'],
])("%s for a stream is read without a figure", (_, text) => {
  expect(readStreamFacts(record(text))).toMatchObject({ responseId: null, usage: null, finishReason: null });
  expect(countOutputChars(record(text), true)).toBe(0);
});

test("hostile ids and reasons are cut short", () => {
  const facts = readJsonFacts(record(JSON.stringify({ id: "i".repeat(10_000), choices: [{ finish_reason: "f".repeat(10_000) }] })));
  expect([facts.responseId?.length, facts.finishReason?.length]).toEqual([200, 64]);
});

test("an answer within reasoning and tool calls is counted", () => {
  const parts = { content: "ab", reasoning_content: "cd", tool_calls: [{ function: { name: "ef", arguments: "gh" } }, null] };
  expect(countOutputChars(record(data({ choices: [{ delta: parts }] })), true)).toBe(8);
  expect(countOutputChars(record(JSON.stringify({ choices: [{ message: parts }] })), false)).toBe(8);
});

test.each([
  [
    "OpenAI",
    {
      prompt_tokens: 100,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    [60, 40, 0, 9, 3],
  ],
  [
    "OpenRouter",
    { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 } },
    [50, 40, 10, 9, 0],
  ],
  ["DeepSeek", { prompt_tokens: 100, completion_tokens: 9, prompt_cache_hit_tokens: 30 }, [70, 30, 0, 9, 0]],
  ["Moonshot", { prompt_tokens: 100, completion_tokens: 9, cached_tokens: 20, reasoning_tokens: 2 }, [80, 20, 0, 9, 2]],
  ["more cached than sent", { prompt_tokens: 10, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 40 } }, [0, 40, 0, 0, 0]],
])("usage of %s in classes that do not overlap", (_, usage, [input, cacheRead, cacheWrite5m, output, reasoning]) => {
  expect(toTokenUsage(usage)).toEqual({ input, cacheRead, cacheWrite5m, cacheWrite1h: 0, output, reasoning });
});

test.each([
  null,
  undefined,
  [[]],
  "1",
  {},
  { prompt_tokens: 1 },
  { prompt_tokens: -1, completion_tokens: 1 },
  { prompt_tokens: 1.5, completion_tokens: 1 },
  { prompt_tokens: NaN, completion_tokens: 1 },
])("usage %j is no figure", (usage) => {
  expect(toTokenUsage(usage)).toBeNull();
});
