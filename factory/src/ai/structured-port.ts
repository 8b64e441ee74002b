import type { Json } from "@harnais/contracts/json.ts";
import type { CountedCall } from "@harnais/contracts/runner-event.ts";

// X10: structured output. structured.ts implements it.

export interface StructuredDiagnostics {
  readonly parsedOn: "primary" | "repair" | "none";
  readonly repairAttempted: boolean;
  readonly repairError?: string;
  readonly looksDoubled: boolean;
  /** Why the primary text was refused, one line. */
  readonly primaryError?: string;
}

export interface StructuredResult {
  readonly ok: boolean;
  readonly value?: Json;
  readonly diagnostics: StructuredDiagnostics;
  /** The repair's own model calls, for the runner's book. */
  readonly calls: readonly CountedCall[];
}

export interface StructuredRequest {
  readonly text: string;
  /** JSON Schema (draft 2020-12 or 7). */
  readonly schema: Json;
  /** Whose money it is. */
  readonly runId: string;
  readonly phaseId: string;
  readonly attempt: number;
  /** `provider/id` of the repair call. */
  readonly model: string;
  /** False: never repair. Default true. */
  readonly repair?: boolean;
}

/** Never throws for bad model output or for an absent proxy. */
export type ReadStructured = (request: StructuredRequest, signal: AbortSignal) => Promise<StructuredResult>;
