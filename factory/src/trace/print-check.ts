import { formatUsd } from "@harnais/contracts/money.ts";
import type { BookCheck, RunCheck } from "./check-run.ts";
import type { Finding } from "./judge-call.ts";

export interface CheckTotals {
  readonly explained: number;
  readonly unexplained: number;
}

export function listFindings(run: RunCheck): readonly Finding[] {
  return [...run.phases.flatMap((phase) => phase.books.flatMap((book) => book.findings)), ...run.findings];
}

export function countFindings(runs: readonly RunCheck[]): CheckTotals {
  const findings = runs.flatMap(listFindings);
  const explained = findings.filter((finding) => finding.isExplained).length;
  return { explained, unexplained: findings.length - explained };
}

/** The lines that `trace check` prints for one run. */
export function printCheck(run: RunCheck): string[] {
  const word = run.rehearsal ? ", rehearsal" : "";
  const lines = [`run ${run.runId} (${run.workflow}) — ${run.status}`];
  for (const phase of run.phases) {
    const head = `${phase.phaseId.slice(-2)} ${phase.name}  ${phase.kind}`;
    if (phase.books.length === 0) lines.push(phase.kind === "code" ? `${head}   code phase` : `${head}  no attempt yet`);
    for (const book of phase.books)
      lines.push(`${head}  ${printBook(book, word)}`, ...book.findings.map((finding) => `   ${printFinding(finding)}`));
  }
  return [...lines, ...run.findings.map((finding) => printFinding(finding)), toVerdict(countFindings([run]))];
}

/** `1 difference explained, 0 unexplained`. */
export function toVerdict({ explained, unexplained }: CheckTotals): string {
  if (explained + unexplained === 0) return "the books agree";
  return `${explained} ${explained === 1 ? "difference" : "differences"} explained, ${unexplained} unexplained`;
}

function printBook(book: BookCheck, word: string): string {
  const print = (name: "harness" | "proxy" | "runner"): string =>
    book[name].calls === 0
      ? `no call (${name})`
      : formatUsd(book[name].costUsd, { complete: book[name].costComplete, source: `${name}${word}` });
  const calls = `${book.calls} ${book.calls === 1 ? "call" : "calls"}`;
  return `attempt ${book.attempt} (${book.label}), ${calls}: ${book.isFactory ? "factory call" : print("harness")} / ${print("proxy")} / ${print("runner")}`;
}

/** One line of a finding: explained or not, the call, the cause, each book's figure. */
export function printFinding(finding: Finding): string {
  const books = (["harness", "proxy", "runner"] as const).flatMap((name) => {
    const usd = finding[`${name}Usd`];
    return usd === undefined ? [] : [`${name} ${usd === null ? "unknown" : `$${toExact(usd)}`}`];
  });
  const amount = finding.amountUsd === null ? "" : `; ~$${toExact(finding.amountUsd)}`;
  const figures = books.length === 0 ? "" : ` (${books.join(", ")}${amount})`;
  const file = finding.file === undefined ? "" : ` [${finding.file}]`;
  return `${finding.isExplained ? "explained" : "UNEXPLAINED"} ${finding.call}: ${finding.cause}${figures}${file}`;
}

/** To the nano-USD, without the zeros at the end: differences are small. */
const toExact = (usd: number): string => usd.toFixed(9).replace(/0+$/, "").replace(/\.$/, ".0");
