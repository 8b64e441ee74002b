import type { AttemptEvidence, AttemptVerdict } from "./agent-adapter.ts";

// pi's exit status alone proves nothing: with `--mode json` it is 0 for a refused call and for a reply that was cut at
// the output limit (pi 1.6). Success = status 0, `agent_settled`, a last call that stopped by itself, and a text.

const MAX_REASON_CHARS = 500;
// 128 + SIGHUP, SIGINT, SIGKILL, SIGTERM: pi ended by itself on a signal.
const SIGNAL_STATUSES = [129, 130, 137, 143];

/** pi's rules of success for one attempt that ended by itself. */
export function judgePi(evidence: AttemptEvidence): AttemptVerdict {
  const { exitCode, signal, sawFinal, lastStopReason, lastError, text } = evidence;
  if (signal !== null) return failed("crashed", `pi was killed by ${signal}${sawFinal ? " after its last event" : ""}`);
  if (exitCode !== null && SIGNAL_STATUSES.includes(exitCode)) return failed("crashed", `pi was ended by a signal (exit code ${exitCode})`);
  if (lastStopReason === "error") return failed("llm-upstream", `the model call failed: ${lastError ?? "no reason given"}`);
  if (exitCode !== 0) return failed("agent", `pi ended with exit code ${exitCode}${toTail(evidence.stderrTail)}`);
  if (!sawFinal) return failed("agent", `pi ended without its final event${toTail(evidence.stderrTail)}`);
  if (lastStopReason === null) return failed("agent", `pi made no model call${toTail(evidence.stderrTail)}`);
  if (lastStopReason === "aborted") return failed("crashed", "the last model call was aborted");
  if (lastStopReason === "length")
    return failed("no-usable-output", "the last answer was cut at the model's output limit (stop reason length)");
  if (lastStopReason !== "stop") return failed("agent", `the last model call did not end normally (stop reason ${lastStopReason})`);
  if (text.trim() === "") return failed("no-usable-output", "the agent ended with an empty answer");
  return { ok: true };
}

type Failure = Extract<AttemptVerdict, { ok: false }>;
const failed = (cause: Failure["cause"], reason: string): Failure => ({ ok: false, cause, reason: toOneLine(reason) });

function toTail(stderr: string): string {
  const last = stderr
    .split("\n")
    .map((line) => line.trim())
    .findLast((line) => line !== "");
  return last === undefined ? "" : `: ${last}`;
}

const toOneLine = (text: string): string => text.replace(/\s+/g, " ").slice(0, MAX_REASON_CHARS);
