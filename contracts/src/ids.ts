import { z } from "zod";

/** A run: 8 or more lower-case hex digits, e.g. `a1b2c3d4`. */
export type RunId = string;
/** A phase of a run: `<run_id>-<seq, two digits>`, e.g. `a1b2c3d4-01`. */
export type PhaseId = `${RunId}-${string}`;
/** A request of any door: `req_` + 12 hex. */
export type RequestId = `req_${string}`;
/** Prefix of a journal line's id by journal: harness, runner, bill. */
export type EventIdPrefix = "hev" | "evt" | "bil";
export type EventId = `${EventIdPrefix}_${string}`;

export const RUN_ID = /^[0-9a-f]{8,32}$/;
/** Session ids are chosen by us (UUID) or by a CLI: never a path, never an option. */
export const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export const RunIdSchema = z.string().regex(RUN_ID, "a run id is 8 or more hex digits");
export const RequestIdSchema = z.templateLiteral(["req_", z.string().regex(/^[0-9a-f]{12}$/)]);

/** `bytes` random bytes as lower-case hex, from the platform's secure generator. */
export function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const createRunId = (): RunId => randomHex(4);
export const createRequestId = (): RequestId => `req_${randomHex(6)}`;
export const createSessionId = (): string => crypto.randomUUID();
/** A journal line's id: prefix + 12 hex, random. */
export const createEventId = (prefix: EventIdPrefix): EventId => `${prefix}_${randomHex(6)}`;

/** The id of the `seq`-th phase of a run; `seq` is 1 to 99. */
export function toPhaseId(runId: RunId, seq: number): PhaseId {
  return `${runId}-${String(seq).padStart(2, "0")}`;
}
/** The job that carries one attempt of an agent phase. */
export const toJobId = (phaseId: PhaseId, attempt: number): string => `${phaseId}-a${attempt}`;
/** The job under which the factory's own model calls of a run are billed. */
export const toFactoryJobId = (runId: RunId): string => `${runId}-f`;
