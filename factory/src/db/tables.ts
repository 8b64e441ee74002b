import type { BillOutcome, CostStatus } from "@harnais/contracts/bill.ts";
import type {
  AttemptEnd,
  ConfinementLevel,
  FailureCause,
  Harness,
  Intent,
  PhaseStatus,
  RequestStatus,
  RunStatus,
} from "@harnais/contracts/statuses.ts";
import type { ColumnType, Generated, Kysely, Transaction } from "kysely";

// Column names are camelCase here and snake_case in SQL (CamelCasePlugin). int8 and numeric are read as numbers
// on both bases (db/type-parsers.ts); timestamptz is read as an ISO 8601 string with milliseconds, UTC.

type Timestamp = ColumnType<string, string | undefined, string>;
/** jsonb: written as a JSON string, read back parsed; validate with zod before use. */
type Jsonb = ColumnType<unknown, string, string>;

export interface ProjectsTable {
  id: string;
  name: string;
  repo: string;
  baseBranch: string;
  validation: string[];
  validationAttempts: number;
  agent: Harness;
  model: string | null;
  ceilings: Jsonb;
  scope: string | null;
  allowHosts: string[];
  trusted: Jsonb;
  pausedAt: ColumnType<string | null, string | null | undefined, string | null>;
  createdAt: Timestamp;
}

export interface ProvidersTable {
  name: string;
  dialect: "chat-completions" | "responses" | "messages";
  baseUrl: string;
  keyEnv: string | null;
  enabled: boolean;
  createdAt: Timestamp;
}

export interface PricesTable {
  provider: string;
  model: string;
  version: string;
  validFrom: Timestamp;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
}

export interface RequestsTable {
  id: string;
  door: "console" | "mail" | "schedule";
  text: string;
  projectId: string | null;
  scope: string | null;
  intent: Intent | null;
  status: RequestStatus;
  reason: string | null;
  createdAt: Timestamp;
}

export interface RunsTable {
  runId: string;
  requestId: string | null;
  projectId: string;
  workflow: string;
  workflowSha: string | null;
  input: string;
  agent: Harness | null;
  model: string | null;
  status: RunStatus;
  level: ConfinementLevel;
  rehearsal: boolean;
  cause: FailureCause | null;
  reason: string | null;
  question: string | null;
  resultText: string | null;
  leaseOwner: string | null;
  leaseUntil: ColumnType<string | null, string | null | undefined, string | null>;
  fence: Generated<number>;
  worktree: string | null;
  branch: string | null;
  baseSha: string | null;
  commitSha: string | null;
  costUsd: number | null;
  costComplete: Generated<boolean>;
  tokens: number | null;
  createdAt: Timestamp;
  startedAt: ColumnType<string | null, string | null | undefined, string | null>;
  finishedAt: ColumnType<string | null, string | null | undefined, string | null>;
}

export interface PhasesTable {
  phaseId: string;
  runId: string;
  seq: number;
  name: string;
  callNo: number;
  kind: "agent" | "code";
  status: PhaseStatus;
  attempts: number;
  retries: number;
  onInterrupt: string | null;
  /** JSON text of the result (jsonb would refuse `\u0000`). */
  resultJson: string | null;
  costUsd: number | null;
  costComplete: Generated<boolean>;
  tokens: number | null;
  startedAt: string;
  finishedAt: string | null;
}

export interface SessionsTable {
  sessionId: string;
  phaseId: string;
  harness: Harness;
  cwd: string;
  createdAt: Timestamp;
}

export interface AttemptsTable {
  phaseId: string;
  attempt: number;
  sessionId: string | null;
  label: string;
  status: AttemptEnd | "running";
  cause: FailureCause | null;
  reason: string | null;
  durationMs: number | null;
  costUsd: number | null;
  costComplete: Generated<boolean>;
  tokens: number | null;
  checkpoint: string | null;
  pid: number | null;
  pidStarted: string | null;
  startedAt: string;
}

export interface EventsTable {
  seq: number;
  eventId: string;
  runId: string | null;
  phaseId: string | null;
  type: string;
  name: string | null;
  payloadJson: string;
  ts: string;
}

export interface HarnessEventsTable {
  eventId: string;
  sessionId: string;
  type: string;
  name: string | null;
  payloadJson: string;
  ts: string;
  lineNo: number;
  turn: number | null;
  toolCallId: string | null;
  tokens: number | null;
  costUsd: number | null;
}

export interface LlmCallsTable {
  id: string;
  runId: string | null;
  phaseId: string | null;
  label: string;
  attempt: number | null;
  sessionId: string | null;
  jobId: string;
  seq: number;
  turn: number | null;
  agent: string | null;
  provider: string;
  modelAsked: string;
  modelAnswered: string | null;
  dialect: string;
  stream: boolean;
  startedAt: string;
  firstByteMs: number | null;
  upstreamMs: number | null;
  overheadMs: number | null;
  totalMs: number | null;
  httpStatus: number | null;
  outcome: BillOutcome | null;
  finishReason: string | null;
  input: number | null;
  cacheRead: number | null;
  cacheWrite5m: number | null;
  cacheWrite1h: number | null;
  output: number | null;
  reasoning: number | null;
  usageSource: "provider" | "estimated" | null;
  costUsd: number | null;
  costStatus: CostStatus | null;
  priceVersion: string | null;
  messageCount: number | null;
  toolCount: number | null;
  responseId: string | null;
  requestBytes: number | null;
  responseBytes: number | null;
}

export interface IngestFilesTable {
  path: string;
  kind: string;
  sizeBytes: number;
  offsetBytes: number;
  inode: string;
  lineNo: number;
  /** Fingerprint of what was read, to tell an append from a rewrite. */
  fingerprint: string | null;
}

export interface Tables {
  projects: ProjectsTable;
  providers: ProvidersTable;
  prices: PricesTable;
  requests: RequestsTable;
  runs: RunsTable;
  phases: PhasesTable;
  sessions: SessionsTable;
  attempts: AttemptsTable;
  events: EventsTable;
  harnessEvents: HarnessEventsTable;
  llmCalls: LlmCallsTable;
  ingestFiles: IngestFilesTable;
}

/** The handle that queries take first: the base itself or a transaction of it. */
export type Db = Kysely<Tables> | Transaction<Tables>;
