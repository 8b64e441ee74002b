import type { DrivenProcess, ExitStatus } from "./driver.ts";
import { endWithUs } from "./live-groups.ts";
import type { EndCause, ProcessEnd, ProcessLimits } from "./process.ts";
import type { ProcessMark } from "./process-table.ts";
import { killGroup, type SweepResult, sweepMarked } from "./sweep.ts";

const TERM_GRACE_MS = 5000;
// SIGKILL works at once; a leader that is still there (uninterruptible sleep) must not hold the factory.
const KILL_GRACE_MS = 2000;
// A grandchild that holds the output open delays the end by so much at most.
const DRAIN_MS = 1900;
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface FollowedProcess {
  readonly done: Promise<ProcessEnd>;
  /** Output came: the idle clock starts again. */
  touch(): void;
  expectEnd(graceMs: number): void;
}

export interface FollowOptions {
  readonly limits: ProcessLimits;
  readonly mark: ProcessMark | undefined;
  /** Called once, when no more output can come. */
  onDrained(): void;
}

/** Watches a process to its end: limits, cancellation, the kill ladder, the drain, the sweep. `done` never rejects. */
export function followProcess(driven: DrivenProcess, options: FollowOptions, signal: AbortSignal): FollowedProcess {
  const startedAt = performance.now();
  const timers = createTimers();
  const forget = endWithUs(driven.pid);
  let cause: EndCause = "exit";
  let isFinal = false;
  let lastOutputAt = startedAt;
  let giveUp: (status: ExitStatus) => void = () => undefined;
  const stuck = new Promise<ExitStatus>((resolve) => (giveUp = resolve));

  const end = (why: EndCause): void => {
    if (cause !== "exit") return;
    cause = isFinal && why !== "cancelled" ? "after-final" : why;
    killGroup(driven.pid, "SIGTERM");
    timers.after(TERM_GRACE_MS, () => {
      killGroup(driven.pid, "SIGKILL");
      timers.after(KILL_GRACE_MS, () => giveUp({ exitCode: null, signal: "SIGKILL" }));
    });
  };
  const watchIdle = (idleMs: number): void => {
    const leftMs = lastOutputAt + idleMs - performance.now();
    if (leftMs <= 0) end("idle-timeout");
    else timers.after(leftMs, () => watchIdle(idleMs));
  };
  const onAbort = (): void => end("cancelled");

  timers.after(options.limits.timeoutMs, () => end("timeout"));
  if (options.limits.idleMs !== undefined) watchIdle(options.limits.idleMs);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();

  const finish = async (): Promise<ProcessEnd> => {
    const status = await Promise.race([driven.exited, stuck]);
    timers.clear();
    signal.removeEventListener("abort", onAbort);
    const { ended: swept, survivors } = await settle(driven, options);
    forget();
    return { cause, ...status, durationMs: Math.round(performance.now() - startedAt), swept, survivors };
  };
  return {
    done: finish(),
    touch: () => void (lastOutputAt = performance.now()),
    expectEnd(graceMs) {
      if (isFinal) return;
      isFinal = true;
      timers.after(graceMs, () => end("after-final"));
    },
  };
}

const NOBODY: SweepResult = { ended: 0, survivors: [] };

/** After every end: the rest of the group, those who left it, and the output to its last byte. */
async function settle(driven: DrivenProcess, options: FollowOptions): Promise<SweepResult> {
  killGroup(driven.pid, "SIGKILL");
  const timers = createTimers();
  const tooLong = new Promise<void>((resolve) => timers.after(DRAIN_MS, resolve));
  const drain = Promise.race([driven.drained, tooLong]).then(() => {
    timers.clear();
    driven.closeOutput();
    options.onDrained();
  });
  const [swept] = await Promise.all([options.mark === undefined ? NOBODY : sweepMarked(options.mark), drain]);
  return swept;
}

function createTimers() {
  const running = new Set<NodeJS.Timeout>();
  return {
    after(ms: number, action: () => void): void {
      const timer = setTimeout(
        () => {
          running.delete(timer);
          action();
        },
        Math.min(Math.max(ms, 0), MAX_TIMER_MS),
      );
      running.add(timer);
    },
    clear(): void {
      for (const timer of running) clearTimeout(timer);
      running.clear();
    },
  };
}
