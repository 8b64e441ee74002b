import type { Logger } from "pino";
import type { AgentEvent, AttemptEvidence } from "../agents/agent-adapter.ts";
import type { Launcher, ProcessEnd, RunningProcess } from "../launcher/process.ts";
import { messageOf } from "../lib/errors.ts";
import type { Redactor } from "../lib/redaction.ts";
import { openAttemptLog, sealLogFile } from "./attempt-log.ts";
import type { CallBook } from "./call-book.ts";
import type { JobObserver } from "./job.ts";
import type { PreparedAttempt } from "./prepare-attempt.ts";
import { createThrottle } from "./throttle.ts";

/** What there is to know when the process is gone. */
export interface AttemptFacts {
  readonly end: ProcessEnd;
  readonly evidence: AttemptEvidence;
  /** True when we ended it because of its turns. */
  readonly hasTooManyTurns: boolean;
}

export interface FollowContext {
  readonly launcher: Pick<Launcher, "launch">;
  readonly redactor: Redactor;
  readonly log: Logger;
  readonly book: CallBook;
  readonly observer: JobObserver;
  readonly maxTurns: number | undefined;
}

/** After its final event a CLI has so long to leave by itself. */
const FINAL_GRACE_MS = 60_000;
const PROGRESS_MS = 250;

/** Starts the CLI and follows its events to the end. @throws what `launch` throws, before anything has started. */
export async function followAttempt(attempt: PreparedAttempt, context: FollowContext, signal: AbortSignal): Promise<AttemptFacts> {
  const { book, observer, log } = context;
  const tooManyTurns = new AbortController();
  const last = { stopReason: null as string | null, error: null as string | null, text: "", sawFinal: false };
  const progress = createThrottle(() => observer.onProgress(book.toProgress()), PROGRESS_MS);
  const output = openAttemptLog(attempt.logFile, context.redactor, (error) =>
    log.warn({ file: attempt.logFile, error }, "attempt log lost"),
  );

  const take = (event: AgentEvent): void => {
    book.add(event);
    if (event.type === "assistant") {
      last.stopReason = event.stopReason;
      last.error = event.error;
      last.text = event.text;
    }
    if (event.type === "final") {
      last.sawFinal = true;
      running.expectEnd(FINAL_GRACE_MS);
    }
    if (event.type === "turn_start" && context.maxTurns !== undefined && book.turns > context.maxTurns) tooManyTurns.abort();
    progress.call();
  };
  const onLine = (line: string): void => {
    const events = attempt.parser.parseLine(line);
    // A line that says nothing new (a delta, a repetition) is not logged: a secret could be split over two of them.
    if (events.length > 0) output.write(line);
    for (const event of events) take(event);
  };

  let running: RunningProcess;
  let end: ProcessEnd;
  try {
    running = context.launcher.launch(attempt.command, { ...attempt.options, onLine }, AbortSignal.any([signal, tooManyTurns.signal]));
    const { pid, startTime } = running;
    const started = Promise.resolve({ pid, startTime })
      .then((process) => observer.onStart(process))
      .catch((error: unknown) => log.error({ error: messageOf(error) }, "the start of the agent could not be recorded"));
    [end] = await Promise.all([running.done, started]);
  } finally {
    output.close();
    progress.flush();
  }
  book.close();
  const stderrTail = await sealLogFile(attempt.options.stderrFile, context.redactor).catch((error: unknown) => {
    log.warn({ file: attempt.options.stderrFile, error: messageOf(error) }, "standard error of the agent could not be redacted");
    return "";
  });
  return {
    end,
    hasTooManyTurns: tooManyTurns.signal.aborted,
    evidence: {
      exitCode: end.exitCode,
      signal: end.signal,
      sawFinal: last.sawFinal,
      lastStopReason: last.stopReason,
      lastError: last.error,
      text: last.text,
      stderrTail,
    },
  };
}
