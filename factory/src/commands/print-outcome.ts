import type { RunReport } from "@harnais/contracts/run-report.ts";
import type { ExitCode } from "../lib/errors.ts";
import type { Followed } from "./follow-run.ts";
import { toRunLines } from "./print-run.ts";
import { toPrintable } from "./printable.ts";

/** Prints how a followed run ended and sets the exit code: the answer or the report on standard output. */
export function printOutcome({ report, end }: Followed, { json }: { json: boolean }): void {
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
  else if (report.text !== undefined && report.status === "done") process.stdout.write(`${toPrintable(report.text)}\n`);
  else process.stdout.write(`${toPrintable(toRunLines(report).join("\n"))}\n`);
  process.exitCode = end === "interrupted" ? 130 : toExitCodeOf(report);
}

function toExitCodeOf(report: RunReport): ExitCode {
  if (report.status === "done") return 0;
  return report.cause === "part-missing" ? 4 : 1;
}
