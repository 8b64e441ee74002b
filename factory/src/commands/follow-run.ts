import { createInterface } from "node:readline/promises";
import { isFinalRunStatus } from "@harnais/contracts/statuses.ts";
import { type RunReport, RunReportSchema } from "@harnais/contracts/run-report.ts";
import { z } from "zod";
import type { Api } from "../http/api-client.ts";
import { FactoryError } from "../lib/errors.ts";
import { createLiveLine } from "./live-line.ts";
import { createRunProgress } from "./run-progress.ts";

/** How following a run ended. `interrupted`: Ctrl-C; `unanswered`: it waits and nobody is at a terminal. */
export interface Followed {
  readonly report: RunReport;
  readonly end: "finished" | "interrupted" | "unanswered";
}

export interface FollowOptions {
  /** What Ctrl-C does: cancel the run and wait for its end, or leave it going. */
  readonly onInterrupt: "cancel" | "leave";
}

const MAX_RECONNECTS = 10;
const RECONNECT_MS = 500;

/** Shows a run on standard error as it happens, until it has ended. */
export async function followRun(api: Api, runId: string, { onInterrupt }: FollowOptions): Promise<Followed> {
  const stop = new AbortController();
  let interrupts = 0;
  const interrupt = (): void => {
    if (++interrupts > 1) process.exit(130);
    if (onInterrupt === "leave") stop.abort();
    else void api.post(`/api/runs/${runId}/cancel`, { reason: "interrupted at the terminal" }, z.unknown()).catch(() => stop.abort());
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  try {
    const isUnanswered = await showEvents(api, runId, stop);
    const report = await api.get(`/api/runs/${runId}`, RunReportSchema);
    if (interrupts > 0) return { report, end: "interrupted" };
    return { report, end: isUnanswered ? "unanswered" : "finished" };
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}

/** True when the run waits for an answer that nobody here can give. */
async function showEvents(api: Api, runId: string, stop: AbortController): Promise<boolean> {
  const progress = createRunProgress();
  const live = createLiveLine(process.stderr);
  let after = 0;
  for (let reconnects = 0; reconnects <= MAX_RECONNECTS; reconnects++) {
    try {
      for await (const frame of api.events({ run: runId, after }, stop.signal)) {
        after = frame.seq ?? after;
        const liveLine = progress.toLiveLine(frame);
        if (liveLine !== undefined) live.show(liveLine);
        for (const line of progress.toLines(frame)) live.print(line);
        if (frame.type === "run_finish") return false;
        if (frame.type === "run_waiting" && !(await answer(api, runId, toText(frame.payload["question"])))) return true;
      }
    } catch (error) {
      if (!(error instanceof FactoryError) || error.code !== "server-unreachable" || reconnects === MAX_RECONNECTS) throw error;
    } finally {
      live.clear();
    }
    if (stop.signal.aborted || isFinalRunStatus((await api.get(`/api/runs/${runId}`, RunReportSchema)).status)) return false;
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
  return false;
}

async function answer(api: Api, runId: string, question: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    process.stderr.write(`${question}\nanswer with: harnais answer ${runId} "<text>"\n`);
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const text = await terminal.question(`${question}\n> `);
    await api.post(`/api/runs/${runId}/answer`, { text }, z.unknown());
    return true;
  } finally {
    terminal.close();
  }
}

const toText = (value: unknown): string => (typeof value === "string" ? value : "");
