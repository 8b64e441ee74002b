import type { CostSum } from "@harnais/contracts/money.ts";
import type { Json } from "@harnais/contracts/json.ts";
import type { CountedCall } from "@harnais/contracts/runner-event.ts";
import type { FailureCause, Harness } from "@harnais/contracts/statuses.ts";
import type { RunId } from "@harnais/contracts/ids.ts";

// The executor's port: one job = one attempt of an agent phase. run-job.ts implements it.

export interface Job {
  /** `<phase_id>-a<attempt>`. */
  readonly jobId: string;
  readonly runId: RunId;
  readonly phaseId: string;
  readonly attempt: number;
  readonly harness: Harness;
  /** `provider/id`. */
  readonly model: string;
  readonly mode: "explore" | "code";
  /** Phase label that the agent's calls are billed to. */
  readonly label: string;
  readonly prompt: string;
  readonly systemPrompt?: string;
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  readonly output?: { readonly schema: Json };
  readonly sessionId: string;
  /** True from the second attempt of a session on: resume it if the CLI still has it. */
  readonly resume: boolean;
  /** The phase's first prompt: sent again before the correction when the session was lost before it began. */
  readonly firstPrompt: string;
  readonly cwd: string;
  readonly limits: { readonly timeoutMs: number; readonly idleMs: number; readonly maxTurns?: number };
}

export interface JobProgress {
  readonly lastTool: string | null;
  readonly turns: number;
  readonly tools: number;
  readonly tokens: number | null;
  readonly cost: CostSum;
}

/** Called while the job runs; must not throw. */
export interface JobObserver {
  onStart(process: { readonly pid: number; readonly startTime: string | null }): void | Promise<void>;
  onProgress(progress: JobProgress): void;
}

interface JobFigures {
  readonly durationMs: number;
  readonly tokens: number | null;
  readonly cost: CostSum;
  /** Every model call of the attempt as counted from the CLI's stream, and the factory's own. */
  readonly calls: readonly CountedCall[];
  /** The CLI's last text; empty when there was none. */
  readonly text: string;
}

/** `done` means done: no error hides in a result. */
export type JobOutcome =
  | (JobFigures & { readonly type: "done"; readonly value?: Json })
  | (JobFigures & {
      readonly type: "failed";
      readonly cause: FailureCause;
      /** One line for people and for the correction. */
      readonly reason: string;
      /** False: a further attempt would fail alike (part missing, unknown model, storage, ceiling). */
      readonly retryable: boolean;
    })
  | (JobFigures & { readonly type: "cancelled"; readonly reason: string });

/**
 * Runs one attempt to its end. Never rejects: every failure is an outcome with its cause. Aborting `signal` ends the
 * agent by the kill ladder and settles as `cancelled` within 10 s. When it resolves no process of the attempt is alive
 * and every bill of its calls is in the journal.
 */
export type RunJob = (job: Job, observer: JobObserver, signal: AbortSignal) => Promise<JobOutcome>;
