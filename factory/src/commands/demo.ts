import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CreateRequestBody, RequestView } from "@harnais/contracts/api-bodies.ts";
import type { RunReport } from "@harnais/contracts/run-report.ts";
import { defineCommand } from "citty";
import { z } from "zod";
import { type Config, loadConfig } from "../config.ts";
import { ensureSampleRepository } from "../start-factory.ts";
import { checkBooks } from "../trace/check-books.ts";
import type { RunCheck } from "../trace/check-run.ts";
import { toMirrorFile } from "../trace/mirror-file.ts";
import { openJournals } from "../trace/open-journals.ts";
import { countFindings, printCheck } from "../trace/print-check.ts";
import { connectApi } from "./connect.ts";
import { followRun } from "./follow-run.ts";
import { parseInput } from "./parse-input.ts";
import { toRunLines } from "./print-run.ts";

const SENTENCE = "Ajoute l'année en cours au pied de page";
const MODEL = "rehearsal/demo";

export default defineCommand({
  meta: { name: "demo", description: "The whole flow on a sample project with the rehearsal model: no key, no cost" },
  args: {
    sentence: { type: "positional", description: `what is asked (default: ${SENTENCE})`, required: false },
    json: { type: "boolean", description: "print the run's report as one JSON document" },
  },
  async run({ args }) {
    const config = loadConfig({ searchUpward: false });
    const plume = join(config.dataDir, "demo", "plume");
    await ensureSampleRepository(config, plume);
    const before = countRehearsed(config);
    const body = parseInput(CreateRequestBody, { text: args.sentence ?? SENTENCE, project: plume, intent: "run" });
    const report = await carryOut(config, body);
    const check = await checkRun(config, report.runId);
    if (args.json === true) process.stdout.write(`${JSON.stringify(report)}\n`);
    else process.stdout.write(toSummary({ report, check, plume, rehearsed: countRehearsed(config) - before }));
    const isGreen = report.status === "done" && countFindings([check]).unexplained === 0;
    process.exitCode = process.exitCode ?? (isGreen ? 0 : 1);
  },
});

async function carryOut(config: Config, body: object): Promise<RunReport> {
  await using api = await connectApi(config, { carriesOutRuns: true });
  process.stderr.write(`The rehearsal model (${MODEL}) answers: no key, no cost. Everything else is real.\n`);
  const { requestId } = await api.post("/api/requests", body, z.object({ requestId: z.string() }));
  const { runId, status, reason } = await api.get(`/api/requests/${requestId}`, RequestView);
  if (runId === null) throw new Error(`the request ${requestId} made no run: ${status}, ${reason ?? "no reason given"}`);
  const { report, end } = await followRun(api, runId, { onInterrupt: "cancel" });
  if (end === "interrupted") process.exitCode = 130;
  return report;
}

async function checkRun({ dataDir }: Config, runId: string): Promise<RunCheck> {
  using journals = await openJournals({ dataDir, dbFile: toMirrorFile(dataDir, undefined) });
  const [check] = await checkBooks({ dataDir, mirror: journals.mirror, source: journals.source, runIds: [runId] });
  if (check === undefined) throw new Error(`no books of run ${runId}`);
  return check;
}

/** Requests that the rehearsal model has answered on this data folder. */
function countRehearsed({ dataDir }: Config): number {
  try {
    return readFileSync(join(dataDir, "logs", "rehearsal.jsonl"), "utf8").split("\n").length - 1;
  } catch {
    return 0;
  }
}

function toSummary({ report, check, plume, rehearsed }: { report: RunReport; check: RunCheck; plume: string; rehearsed: number }): string {
  const books = check.phases.flatMap((phase) => phase.books);
  const calls = books.reduce((sum, book) => sum + book.calls, 0);
  const factory = books.filter((book) => book.isFactory).reduce((sum, book) => sum + book.calls, 0);
  const lines = [
    "",
    "What it cost",
    ...toRunLines(report),
    "",
    "Three books: what the agent said / the proxy saw / the runner counted",
    ...printCheck(check),
    `${rehearsed} calls answered by the rehearsal model = ${calls} bills, ${factory} of them the factory's own`,
    "",
    "Look at it",
    `  git -C ${plume} show harnais/${report.runId}`,
    `  npx harnais trace explain ${report.runId}`,
    `  npx harnais show ${report.runId}`,
  ];
  return `${lines.join("\n")}\n`;
}
