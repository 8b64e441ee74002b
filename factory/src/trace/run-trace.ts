import type { Bill } from "@harnais/contracts/bill.ts";
import type { CountedCall } from "@harnais/contracts/runner-event.ts";
import type { AttemptEnd, FailureCause, PhaseStatus, RunStatus } from "@harnais/contracts/statuses.ts";

// What the readers work on: one run as three books, loaded from SQLite or PostgreSQL by `loadRun`; the report
// functions know neither.

export interface TraceEvent {
  readonly eventId: string;
  readonly sessionId: string;
  readonly type: string;
  readonly name: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly ts: string;
}

export interface TraceAttempt {
  readonly attempt: number;
  readonly label: string;
  readonly sessionId: string | null;
  readonly status: AttemptEnd | "running";
  readonly cause: FailureCause | null;
  readonly error: string | null;
  readonly durationMs: number | null;
  readonly costUsd: number | null;
  readonly costComplete: boolean;
  readonly tokens: number | null;
  readonly calls: readonly CountedCall[];
}

export interface TracePhase {
  readonly phaseId: string;
  readonly seq: number;
  readonly name: string;
  readonly kind: "agent" | "code";
  readonly status: PhaseStatus;
  readonly retries: number;
  readonly sessions: readonly string[];
  readonly attempts: readonly TraceAttempt[];
  readonly costUsd: number | null;
  readonly costComplete: boolean;
  readonly tokens: number | null;
  /** Harness lines of its sessions, in the order of their files. */
  readonly harness: readonly TraceEvent[];
  readonly bills: readonly TraceBill[];
}

/** A bill as far as it is known: without a closing line the outcome is null. */
export interface TraceBill extends Omit<Bill, "outcome"> {
  readonly outcome: Bill["outcome"] | null;
  readonly isOpened: boolean;
}

export interface RunTrace {
  readonly runId: string;
  readonly workflow: string;
  readonly request: string;
  readonly status: RunStatus;
  readonly rehearsal: boolean;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly costUsd: number | null;
  readonly costComplete: boolean;
  readonly tokens: number | null;
  readonly phases: readonly TracePhase[];
  /** Bills of the run that no phase claims. */
  readonly strayBills: readonly TraceBill[];
}
