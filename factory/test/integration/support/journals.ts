import { createEventId } from "@harnais/contracts/ids.ts";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A data folder with journals as the probe, the proxy and the runner write them. */
export interface Journals {
  readonly dataDir: string;
  readonly dbFile: string;
  file(kind: "run" | "harness" | "bill", name: string): string;
  append(file: string, ...lines: readonly (object | string)[]): void;
  /** Rewrites a journal line by line; returning nothing drops the line, an array puts several in its place. */
  edit(file: string, change: (line: string, index: number) => string | readonly string[] | undefined): void;
  read(file: string): Record<string, unknown>[];
  remove(): void;
}

export function openJournalsFolder(): Journals {
  const dataDir = mkdtempSync(join(tmpdir(), "harnais-journals-"));
  const folders = { run: "traces", harness: "traces/harness", bill: "traces/bills" };
  const readLines = (file: string): string[] =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  return {
    dataDir,
    dbFile: join(dataDir, "factory.db"),
    file: (kind, name) => join(dataDir, folders[kind], `${name}.jsonl`),
    append(file, ...lines) {
      mkdirSync(dirname(file), { recursive: true });
      appendFileSync(file, lines.map((line) => (typeof line === "string" ? line : `${JSON.stringify(line)}\n`)).join(""));
    },
    edit(file, change) {
      const lines = readLines(file).flatMap((line, index) => change(line, index) ?? []);
      writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
    },
    read: (file) => readLines(file).map((line) => JSON.parse(line) as Record<string, unknown>),
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  };
}

/** One call of the made-up model: 3 USD per million tokens in, 15 out. */
export interface CallPlan {
  readonly kind?: "assistant" | "compaction";
  readonly input: number;
  readonly output: number;
  /** `aborted`: cut in mid-stream, no book but the proxy's knows what it cost. */
  readonly end?: "stop" | "toolUse" | "aborted";
  /** Books that never got the call: a process that was killed. */
  readonly missing?: readonly ("harness" | "runner")[];
}

export interface AttemptPlan {
  readonly calls: readonly CallPlan[];
  readonly status?: "done" | "failed" | "cancelled";
  readonly cause?: string;
  readonly label?: string;
}

export const DAY = "2026-09-02";
export const toUsd = (call: CallPlan): number => (call.input * 3 + call.output * 15) / 1e6;
const round = (usd: number): number => Math.round(usd * 1e9) / 1e9;

let clockMs = Date.parse(`${DAY}T14:07:31.000Z`);
const tick = (): string => new Date((clockMs += 7)).toISOString();

/** Writes the three books of a run with one agent phase. */
export function writeRun(
  journals: Journals,
  runId: string,
  attempts: readonly AttemptPlan[],
): { readonly phaseId: string; readonly sessionId: string } {
  const phaseId = `${runId}-01`;
  const sessionId = `session-${runId}`;
  const runFile = journals.file("run", runId);
  const runner = (type: string, payload: object, ofPhase = true): void =>
    journals.append(runFile, {
      event_id: createEventId("evt"),
      ts: tick(),
      run_id: runId,
      phase_id: ofPhase ? phaseId : null,
      type,
      name: "prompt",
      payload,
    });
  runner("run_start", { adw_name: "prompt", request: "What?", project: "plume", request_id: null, level: "none", rehearsal: false }, false);
  runner("phase_start", { seq: 1, name: "prompt", kind: "agent", retries: 2 });
  runner("phase_session", { session_id: sessionId, attempt: 1, harness: "pi" });
  const sums = attempts.map((plan, index) => writeAttempt(journals, { runId, phaseId, sessionId, attempt: index + 1, plan, runner }));
  const ends = sums.map((sum) => sum.costUsd);
  const total = {
    cost_usd: round(ends.reduce<number>((sum, usd) => sum + (usd ?? 0), 0)),
    cost_complete: !ends.includes(null),
    tokens: sums.reduce((sum, { tokens }) => sum + tokens, 0),
  };
  const status = attempts.at(-1)?.status ?? "done";
  runner("phase_end", { status, attempts: attempts.length, ...total });
  runner("run_finish", { ok: status === "done", status, cause: attempts.at(-1)?.cause ?? null, ...total, duration_ms: 1000 }, false);
  return { phaseId, sessionId };
}

interface AttemptContext {
  readonly runId: string;
  readonly phaseId: string;
  readonly sessionId: string;
  readonly attempt: number;
  readonly plan: AttemptPlan;
  runner(type: string, payload: object): void;
}

function writeAttempt(
  journals: Journals,
  { runId, phaseId, sessionId, attempt, plan, runner }: AttemptContext,
): { readonly costUsd: number | null; readonly tokens: number } {
  const jobId = `${phaseId}-a${attempt}`;
  const label = plan.label ?? "agent";
  const harness = (type: string, name: string, payload: object): void =>
    journals.append(journals.file("harness", sessionId), {
      event_id: createEventId("hev"),
      ts: tick(),
      session_id: sessionId,
      type,
      name,
      payload,
    });
  runner("attempt_start", { attempt, label, session_id: sessionId });
  const start = {
    mode: "json",
    model: "test/model",
    cwd: "/nowhere",
    session_file: null,
    attempt,
    pid: 1000 + attempt,
    harness: "pi",
    harness_version: "1.6.0",
  };
  harness("session_start", "startup", start);
  harness("prompt", "user", { chars: 5, head: "What?" });
  const counted: object[] = [];
  for (const [index, call] of plan.calls.entries()) {
    const isCut = call.end === "aborted";
    const responseId = call.kind === "compaction" ? null : `resp-${runId}-${attempt}-${index + 1}`;
    const usd = round(toUsd(call));
    const bill = {
      input: call.input,
      output: call.output,
      cache_read: 0,
      cache_write: 0,
      total_tokens: call.input + call.output,
      cost_usd: usd,
    };
    const unknown = { input: null, output: null, cache_read: null, cache_write: null, total_tokens: null, cost_usd: null };
    if (call.kind !== "compaction") harness("turn_start", `turn ${index + 1}`, { turn: index + 1 });
    writeBill(journals, { runId, phaseId, sessionId, attempt, jobId, label, seq: index + 1, call, responseId });
    if (call.missing?.includes("harness") !== true) {
      const said = isCut ? unknown : bill;
      if (call.kind === "compaction") harness("compaction", "threshold", { ...said, tokens_before: 1000, calls: 1 });
      else
        harness("assistant", "test/model", { ...said, stop_reason: call.end ?? "stop", tool_calls: 0, chars: 2, response_id: responseId });
    }
    if (call.missing?.includes("runner") !== true)
      counted.push({
        ...{ kind: call.kind ?? "assistant", response_id: responseId, label, tokens: isCut ? null : bill.total_tokens },
        ...{ cost_usd: isCut ? null : usd, stop_reason: call.end ?? "stop" },
      });
  }
  if (plan.status === undefined || plan.status === "done")
    harness("session_shutdown", "quit", { turns: 0, tools: 0, tokens: 0, cost_usd: 0, events: countLines(journals, sessionId) + 1 });
  const known = (counted as { cost_usd: number | null }[]).map((call) => call.cost_usd);
  const sum =
    known.length > 0 && known.every((usd) => usd === null) ? null : round(known.reduce<number>((total, usd) => total + (usd ?? 0), 0));
  const status = plan.status ?? "done";
  const tokens = (counted as { tokens: number | null }[]).reduce((total, call) => total + (call.tokens ?? 0), 0);
  const money = { cost_usd: sum, cost_complete: !known.includes(null), tokens };
  runner("phase_attempt", {
    attempt,
    ok: status === "done",
    status,
    cause: plan.cause ?? null,
    error: null,
    duration_ms: 10,
    ...money,
    label,
    calls: counted,
  });
  return { costUsd: sum, tokens };
}

/** Lines since the latest session_start, itself counted. */
function countLines(journals: Journals, sessionId: string): number {
  const lines = journals.read(journals.file("harness", sessionId));
  return lines.length - lines.findLastIndex((line) => line["type"] === "session_start");
}

interface BillPlan extends Omit<AttemptContext, "plan" | "runner"> {
  readonly jobId: string;
  readonly label: string;
  readonly seq: number;
  readonly call: CallPlan;
  readonly responseId: string | null;
}

function writeBill(journals: Journals, { runId, phaseId, sessionId, attempt, jobId, label, seq, call, responseId }: BillPlan): void {
  const isCut = call.end === "aborted" || call.missing !== undefined;
  const file = journals.file("bill", DAY);
  const line = (type: string, payload: object): void =>
    journals.append(file, { event_id: createEventId("bil"), ts: tick(), session_id: sessionId, type, name: "test/model", payload });
  const opening = {
    ...{
      id: `${jobId}-c${seq}`,
      run_id: runId,
      phase_id: phaseId,
      label,
      attempt,
      session_id: sessionId,
      job_id: jobId,
      seq,
      turn: seq,
      agent: "pi",
    },
    ...{ provider: "test", model_asked: "model", dialect: "chat-completions", stream: true, started_at: tick() },
    ...{ message_count: 2, tool_count: 4, request_bytes: 1000 },
  };
  line("bill_open", opening);
  line("bill_close", {
    ...opening,
    ...{ model_answered: "model", first_byte_ms: 1, upstream_ms: 2, overhead_ms: 0, total_ms: 2, http_status: 200 },
    ...{ outcome: isCut ? "client-abort" : "done", finish_reason: isCut ? null : "stop" },
    ...{ input: call.input, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: call.output, reasoning: null },
    ...{ usage_source: isCut ? "estimated" : "provider", cost_usd: round(toUsd(call)), cost_status: isCut ? "estimated" : "priced" },
    ...{
      price_version: "1",
      response_id: call.kind === "compaction" ? `comp-${runId}-${attempt}-${seq}` : responseId,
      response_bytes: 500,
    },
  });
}
