import { HARNESSES } from "@harnais/contracts/statuses.ts";
import type { AgentSpec } from "@harnais/contracts/workflow.ts";
import { z } from "zod";
import { PhaseFailure } from "./run-failures.ts";

const names = z.array(z.string()).readonly();
const modelId = z.string().regex(/^[^/\s]+\/\S+$/, "is provider/id");
const duration = z.number().int().positive();

/** What a workflow may ask of an agent phase; a workflow file is code that nobody has type-checked. */
const SpecSchema = z.strictObject({
  prompt: z.string().trim().min(1, "must not be empty"),
  systemPrompt: z.string().optional(),
  mode: z.enum(["explore", "code"]),
  agent: z.enum(HARNESSES).optional(),
  model: modelId.optional(),
  tools: z.strictObject({ allow: names.optional(), deny: names.optional() }).optional(),
  output: z.strictObject({ schema: z.json() }).optional(),
  label: z.string().optional(),
  retries: z.number().int().min(0).max(20).optional(),
  onFailure: z.union([z.enum(["same-session", "fresh-session"]), z.strictObject({ model: modelId })]).optional(),
  limits: z.strictObject({ timeoutMs: duration.optional(), idleMs: duration.optional(), maxTurns: duration.optional() }).optional(),
});

/** @throws PhaseFailure naming the phase and the field: before the phase begins. */
export function parseAgentSpec(name: string, spec: unknown): AgentSpec {
  const parsed = SpecSchema.safeParse(spec);
  if (parsed.success) return spec as AgentSpec;
  const issue = parsed.error.issues[0];
  const field = issue?.code === "unrecognized_keys" ? issue.keys.join(", ") : (issue?.path.join(".") ?? "");
  throw new PhaseFailure(`phase ${name}: ${field === "" ? "the request" : field}: ${issue?.message ?? "invalid"}`);
}
