import type { Json } from "@harnais/contracts/json.ts";
import { z } from "zod";
import { hasSixDecimals } from "../price.ts";

// D8: scenario files of the rehearsal model. In `then.text`, the strings of `then.tools[].args` and of `then.json`,
// `${name}` becomes what a named group `(?<name>…)` of the rule's own expressions captured; a name that no group has
// stays as it stands (`${HOME}`). Expressions are JavaScript's; `(?i:…)` and `(?s:…)` set flags inside.

const MAX_DELAY_MS = 600_000;
const MAX_RULES = 1000;

const regex = z.string().max(4000).transform(toRegExp);
const tokens = z.number().int().min(0).max(10_000_000);
const usdPerMillion = z.number().min(0).max(1_000_000).refine(hasSixDecimals, "has at most six decimals");
const delay = z.number().min(0).max(MAX_DELAY_MS);
const json: z.ZodType<Json> = z.json();

const WhenSchema = z.strictObject({
  /** Searched in the system text (all system and developer messages, one per line). */
  system: regex.optional(),
  /** Searched in the text of the last user message. */
  user: regex.optional(),
  /** Searched in the text of the last message; matches only when that is a tool's result. */
  toolResult: regex.optional(),
  /** Assistant messages so far + 1. */
  turn: z.number().int().min(1).optional(),
});

const FaultSchema = z
  .strictObject({
    /** Answers with this HTTP status; `then.text` is its message. */
    status: z.number().int().min(400).max(599).optional(),
    /** Never ends. A number: after so many chunks, 0 = before the headers; true = after two. */
    stall: z.union([z.literal(true), z.number().int().min(0)]).optional(),
    /** Destroys the socket after so many chunks. */
    cutAfterChunks: z.number().int().min(0).optional(),
    /** Reports no usage. */
    noUsage: z.literal(true).optional(),
  })
  .refine((fault) => Object.keys(fault).length > 0, "names one of status, stall, cutAfterChunks, noUsage");

const ThenSchema = z
  .strictObject({
    text: z.string().optional(),
    tools: z
      .array(z.strictObject({ name: z.string().min(1).max(100), args: z.record(z.string(), json).default({}) }))
      .min(1)
      .max(50)
      .optional(),
    /** The answer is this value as JSON text. */
    json: json.optional(),
    /** `input` is fresh input, `cached` comes on top (the wire's prompt_tokens is their sum). Default: from the sizes, 4 characters a token. */
    usage: z.strictObject({ input: tokens.optional(), cached: tokens.optional(), output: tokens.optional() }).optional(),
    /** Before the first byte. */
    delayMs: delay.optional(),
    /** Between two chunks. */
    chunkMs: delay.optional(),
    /** Default: `tool_calls` with tools, else `stop`. */
    finishReason: z.enum(["stop", "length", "tool_calls", "content_filter"]).optional(),
    fault: FaultSchema.optional(),
  })
  .refine(
    (then) => then.text !== undefined || then.tools !== undefined || then.json !== undefined || then.fault !== undefined,
    "answers with text, tools, json or a fault",
  )
  .refine(
    (then) => then.json === undefined || (then.text === undefined && then.tools === undefined),
    "json stands alone, without text and tools",
  );

const PriceSchema = z.strictObject({
  input: usdPerMillion,
  output: usdPerMillion,
  cacheRead: usdPerMillion,
  cacheWrite5m: usdPerMillion,
  cacheWrite1h: usdPerMillion,
});

export const ScenarioSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "is a slug: a-z, 0-9 and -"),
  /** USD per million tokens, notional; null is a model without a price. */
  price: PriceSchema.nullable().default({ input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 }),
  contextWindow: z.number().int().min(1000).max(100_000_000).default(200_000),
  maxOutputTokens: z.number().int().min(1).max(10_000_000).default(32_768),
  rules: z
    .array(z.strictObject({ when: WhenSchema.default({}), then: ThenSchema }))
    .min(1)
    .max(MAX_RULES),
});

/** A checked scenario; its expressions are compiled. */
export type Scenario = z.infer<typeof ScenarioSchema> & { readonly file: string };
export type Rule = Scenario["rules"][number];
export type Answer = Rule["then"];

function toRegExp(source: string, context: z.RefinementCtx): RegExp {
  try {
    return new RegExp(source);
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : "is not a regular expression" });
    return z.NEVER;
  }
}
