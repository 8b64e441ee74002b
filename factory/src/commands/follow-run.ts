import { setTimeout as sleep } from "node:timers/promises";
import type { EventFrame } from "@harnais/contracts/api-bodies.ts";
import { type RunReport, RunReportSchema } from "@harnais/contracts/run-report.ts";
import { isFinalRunStatus } from "@harnais/contracts/statuses.ts";
import { z } from "zod";
import type { Api } from "../http/api-client.ts";
import { FactoryError, messageOf } from "../lib/errors.ts";
import { askAtTerminal } from "./ask-at-terminal.ts";
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

/** Tries in a row that brought no event. */
const MAX_RECONNECTS = 10;
const RECONNECT_MS = 500;

/**
 * Shows a run on standard error as it happens, until it has ended.
 * @throws server-unreachable when the server stays away; as the API answers
 */
export async function followRun(api: Api, runId: string, { onInterrupt }: FollowOptions): Promise<Followed> {
  const stop = new AbortController();
  let end: Followed["end"] = "finished";
  let interrupts = 0;
  const cancel = (reason: string): void => void api.post(`/api/runs/${runId}/cancel`, { reason }, z.unknown()).catch(() => stop.abort());
  const interrupt = (): void => {
    if (++interrupts > 1) process.exit(130);
    end = "interrupted";
    if (onInterrupt === "leave") stop.abort();
    else cancel("interrupted at the terminal");
  };
  const leaveUnanswered = (): void => {
    end = "unanswered";
    if (api.isInProcess) {
      process.stderr.write(`nobody to answer: run ${runId} is cancelled with this command (with \`harnais serve\` it would wait)\n`);
      cancel("it asked, and nobody was at a terminal to answer");
    } else {
      process.stderr.write(`answer with: harnais answer ${runId} "<text>"\n`);
      stop.abort();
    }
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  const questions = createQuestions(api, runId, { interrupt, leaveUnanswered });
  try {
    const report = await showEvents(api, runId, { signal: stop.signal, onFrame: questions.take });
    return { report, end };
  } finally {
    questions.close();
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}

/** Prints the run's events until it has ended or `signal` aborts; a server that goes away is waited for. */
async function showEvents(
  api: Api,
  runId: string,
  { signal, onFrame }: { readonly signal: AbortSignal; onFrame(frame: EventFrame): void },
): Promise<RunReport> {
  const progress = createRunProgress();
  const live = createLiveLine(process.stderr);
  let after = 0;
  let isFinished = false;
  for (let reconnects = 0; ; reconnects++) {
    let why = "it ends the stream of events before the run has ended";
    try {
      // After its last event a run has none to wait for: the report alone is missing.
      const frames: AsyncIterable<EventFrame> | readonly EventFrame[] = isFinished ? [] : api.events({ run: runId, after }, signal);
      for await (const frame of frames) {
        reconnects = 0;
        after = frame.seq ?? after;
        const liveLine = progress.toLiveLine(frame);
        if (liveLine !== undefined) live.show(liveLine);
        for (const line of progress.toLines(frame)) live.print(line);
        onFrame(frame);
        isFinished = frame.type === "run_finish";
        if (isFinished) break;
      }
      live.clear();
      const report = await api.get(`/api/runs/${runId}`, RunReportSchema);
      if (signal.aborted || isFinalRunStatus(report.status)) return report;
    } catch (error) {
      live.clear();
      if (signal.aborted || !(error instanceof FactoryError) || error.code !== "server-unreachable") throw error;
      why = error.message;
    }
    if (reconnects === MAX_RECONNECTS)
      throw new FactoryError(
        "server-unreachable",
        `gave up following run ${runId} after ${MAX_RECONNECTS} tries: ${why}; it may go on there: harnais show ${runId}`,
      );
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
  }
}

interface Questions {
  /** Opens the question of a run that waits, closes it when the run goes on or ends without our answer. */
  take(frame: EventFrame): void;
  close(): void;
}

function createQuestions(
  api: Api,
  runId: string,
  { interrupt, leaveUnanswered }: { interrupt(): void; leaveUnanswered(): void },
): Questions {
  let close = (): void => undefined;
  const giveAnswer = async (text: string): Promise<void> => {
    try {
      await api.post(`/api/runs/${runId}/answer`, { text }, z.unknown());
    } catch (error) {
      process.stderr.write(`the answer was not taken: ${messageOf(error)}\n`);
    }
  };
  return {
    take({ type }) {
      if (type === "run_resumed" || type === "run_finish") close();
      if (type !== "run_waiting") return;
      // run-progress.ts has printed the question.
      if (!process.stdin.isTTY) leaveUnanswered();
      else close = askAtTerminal({ onAnswer: (text) => void giveAnswer(text), onInterrupt: interrupt, onEnd: leaveUnanswered });
    },
    close: () => close(),
  };
}
