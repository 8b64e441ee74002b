import { z } from "zod";
import { HARNESSES, INTENTS, REQUEST_STATUSES, RUN_STATUSES, toIntent } from "./statuses.ts";

// D4: bodies of the API. Strict: an unknown field is refused, it could hide a typo.

const MAX_INPUT_CHARS = 200_000;
const text = z.string().trim().min(1, "must not be empty").max(MAX_INPUT_CHARS);
const usdPerMillion = z.number().nonnegative().max(1_000_000);

/** A row's id or a path on the server's machine; an unknown path makes the row. */
const project = z.string().trim().min(1).max(4096);

export const CreateRequestBody = z.strictObject({
  text,
  project: project.optional(),
  scope: z.string().trim().min(1).max(200).optional(),
  intent: z.preprocess(toIntent, z.enum(INTENTS).optional()),
});
export type CreateRequest = z.infer<typeof CreateRequestBody>;

export const CreateRunBody = z.strictObject({
  workflow: z.string().trim().min(1).max(100),
  input: text,
  project,
  agent: z.enum(HARNESSES).optional(),
  /** `provider/id`. */
  model: z
    .string()
    .trim()
    .regex(/^[^/\s]+\/\S+$/, "is provider/id, e.g. rehearsal/demo")
    .max(200)
    .optional(),
});
export type CreateRun = z.infer<typeof CreateRunBody>;

export const CancelBody = z.strictObject({ reason: z.string().trim().min(1).max(500).optional() });
export const AnswerBody = z.strictObject({ text });

export const PageQuery = z.object({
  after: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
export const RunsQuery = PageQuery.extend({ status: z.enum(RUN_STATUSES).optional(), project: z.string().max(4096).optional() });

export const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/;
const ENV_NAME = /^[A-Z_][A-Z0-9_]*$/;

export const ProjectBody = z.strictObject({
  id: z.string().regex(SLUG, "is a slug: a-z, 0-9 and -").optional(),
  name: z.string().trim().min(1).max(200).optional(),
  repo: z.string().trim().min(1).max(4096),
  baseBranch: z.string().trim().min(1).max(200).optional(),
  validation: z.array(z.string().trim().min(1).max(2000)).max(20).optional(),
  validationAttempts: z.number().int().min(0).max(10).optional(),
  agent: z.enum(HARNESSES).optional(),
  model: z
    .string()
    .trim()
    .regex(/^[^/\s]+\/\S+$/, "is provider/id")
    .max(200)
    .optional(),
  scope: z.string().trim().min(1).max(200).optional(),
});
export type ProjectInput = z.infer<typeof ProjectBody>;

export const ProviderBody = z.strictObject({
  name: z.string().regex(SLUG, "is a slug: a-z, 0-9 and -"),
  dialect: z.enum(["chat-completions", "responses", "messages"]),
  baseUrl: z.url({ protocol: /^https?$/ }),
  /** Name of the environment variable that holds the key; null for a provider without one. */
  keyEnv: z.string().regex(ENV_NAME, "is the NAME of an environment variable, never the key itself").nullable().optional(),
  enabled: z.boolean().optional(),
});
export type ProviderInput = z.infer<typeof ProviderBody>;

export const PriceBody = z.strictObject({
  provider: z.string().regex(SLUG),
  model: z.string().trim().min(1).max(200),
  version: z.string().trim().min(1).max(100).optional(),
  validFrom: z.iso.datetime().optional(),
  /** USD per million tokens. */
  input: usdPerMillion,
  output: usdPerMillion,
  cacheRead: usdPerMillion,
  cacheWrite5m: usdPerMillion,
  cacheWrite1h: usdPerMillion,
});
export type PriceInput = z.infer<typeof PriceBody>;

export const RequestView = z.object({
  requestId: z.string(),
  door: z.string(),
  text: z.string(),
  project: z.string().nullable(),
  scope: z.string().nullable(),
  intent: z.enum(INTENTS).nullable(),
  status: z.enum(REQUEST_STATUSES),
  reason: z.string().nullable(),
  runId: z.string().nullable(),
  createdAt: z.string(),
});
export type RequestReport = z.infer<typeof RequestView>;

/** One frame of `/api/events`. `seq` is null for `progress` frames, which are not replayed. */
export interface EventFrame {
  readonly seq: number | null;
  readonly runId: string | null;
  readonly phaseId: string | null;
  readonly type: string;
  readonly name: string | null;
  readonly payload: Record<string, unknown>;
  readonly ts: string;
}

/** Payload of a `progress` frame. */
export interface Progress {
  readonly attempt: number;
  readonly lastTool: string | null;
  readonly turns: number;
  readonly tools: number;
  readonly tokens: number | null;
  readonly costUsd: number | null;
}

/** `<data>/server.json` (mode 0600). */
export const ServerFileSchema = z.object({
  url: z.url(),
  token: z.string().min(16),
  pid: z.number().int().positive(),
  startedAt: z.string(),
});
export type ServerFile = z.infer<typeof ServerFileSchema>;
