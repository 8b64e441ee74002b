import { z } from "zod";
import { CONFINEMENT_LEVELS, FAILURE_CAUSES, PHASE_STATUSES, RUN_STATUSES } from "./statuses.ts";

// D4: one run as `--json` and the API give it.

const usd = z.number().nullable();
const tokens = z.number().int().nullable();
const reason = z.string().optional();
const cause = z.enum(FAILURE_CAUSES).optional();

export const AttemptReportSchema = z.object({
  attempt: z.number().int(),
  status: z.enum(PHASE_STATUSES),
  label: z.string(),
  durationMs: z.number().int().nullable(),
  costUsd: usd,
  costComplete: z.boolean(),
  tokens,
  reason,
  cause,
  /** Commit that holds the worktree as the attempt left it. */
  checkpoint: z.string().optional(),
  /** Counted in the harness trace; absent when there is none (yet). */
  turns: z.number().int().optional(),
  tools: z.number().int().optional(),
});
export type AttemptReport = z.infer<typeof AttemptReportSchema>;

export const PhaseReportSchema = z.object({
  phaseId: z.string(),
  name: z.string(),
  kind: z.enum(["agent", "code"]),
  status: z.enum(PHASE_STATUSES),
  costUsd: usd,
  costComplete: z.boolean(),
  tokens,
  sessions: z.array(z.string()),
  attempts: z.array(AttemptReportSchema),
});
export type PhaseReport = z.infer<typeof PhaseReportSchema>;

export const RunReportSchema = z.object({
  runId: z.string(),
  requestId: z.string().optional(),
  workflow: z.string(),
  project: z.string(),
  status: z.enum(RUN_STATUSES),
  level: z.enum(CONFINEMENT_LEVELS),
  /** True when the rehearsal model answered: nothing was really spent. */
  rehearsal: z.boolean(),
  branch: z.string().optional(),
  commit: z.string().optional(),
  question: z.string().optional(),
  /** The text the run ends with (the answer of a `prompt`). */
  text: z.string().optional(),
  cause,
  reason,
  costUsd: usd,
  /** False: `costUsd` is a lower bound ("at least"). */
  costComplete: z.boolean(),
  tokens,
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
  phases: z.array(PhaseReportSchema),
});
export type RunReport = z.infer<typeof RunReportSchema>;
