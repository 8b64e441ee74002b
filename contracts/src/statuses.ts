export const RUN_STATUSES = ["queued", "running", "waiting", "done", "failed", "cancelled"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const PHASE_STATUSES = ["running", "done", "failed", "cancelled", "interrupted"] as const;
export type PhaseStatus = (typeof PHASE_STATUSES)[number];
/** How an attempt ended. */
export type AttemptEnd = Exclude<PhaseStatus, "running">;

export const REQUEST_STATUSES = [
  "received",
  "scanning",
  "blocked",
  "needs_person",
  "classified",
  "dispatched",
  "running",
  "waiting",
  "actioned",
  "archived",
  "escalated",
  "failed",
  "cancelled",
] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

export const INTENTS = ["run", "mission", "question", "noise", "negotiation", "advice"] as const;
export type Intent = (typeof INTENTS)[number];

/** The house's French words, accepted as input; English is stored. */
const FRENCH_INTENTS: Readonly<Record<string, Intent>> = { chantier: "mission", negociation: "negotiation", conseil: "advice" };
/** An intent as a person writes it. */
export const toIntent = (word: unknown): unknown => (typeof word === "string" ? (FRENCH_INTENTS[word.trim().toLowerCase()] ?? word) : word);

export const HARNESSES = ["pi", "claude-code", "codex"] as const;
export type Harness = (typeof HARNESSES)[number];

export const CONFINEMENT_LEVELS = ["none", "guard", "sandbox"] as const;
export type ConfinementLevel = (typeof CONFINEMENT_LEVELS)[number];

/** Why a job, attempt or run failed. */
export const FAILURE_CAUSES = [
  "timeout",
  "idle-timeout",
  "agent",
  "llm-upstream",
  "ceiling",
  "git",
  "branch-contended",
  "no-changes",
  "no-usable-output",
  "validation",
  "storage",
  "cancelled",
  "crashed",
  "part-missing",
  "workflow",
] as const;
export type FailureCause = (typeof FAILURE_CAUSES)[number];

export const isFinalRunStatus = (status: RunStatus): boolean => status === "done" || status === "failed" || status === "cancelled";
