import { rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkBooks } from "../../src/trace/check-books.ts";
import type { RunCheck } from "../../src/trace/check-run.ts";
import { openJournals } from "../../src/trace/open-journals.ts";
import { countFindings, listFindings, printCheck } from "../../src/trace/print-check.ts";
import { DAY, type Journals, openJournalsFolder, toUsd, writeRun } from "./support/journals.ts";

const RUN = "a1b2c3d4";
let journals: Journals;
beforeEach(() => void (journals = openJournalsFolder()));
afterEach(() => journals.remove());

const CALLS = [
  { input: 1200, output: 50, end: "toolUse" },
  { kind: "compaction", input: 24_000, output: 100 },
  { input: 1400, output: 60 },
] as const;

async function check(runId = RUN): Promise<RunCheck> {
  using open = await openJournals({ dataDir: journals.dataDir, dbFile: journals.dbFile });
  const [run] = await checkBooks({ dataDir: journals.dataDir, mirror: open.mirror, source: open.source, runIds: [runId] });
  if (run === undefined) throw new Error("no run");
  return run;
}

const forgetMirror = (): void => {
  for (const end of ["", "-wal", "-shm"]) rmSync(`${journals.dbFile}${end}`, { force: true });
};

test("three books that agree: the sums are those worked out by hand, and no difference is found", async () => {
  writeRun(journals, RUN, [{ calls: CALLS }, { calls: [{ input: 300, output: 20 }], label: "validation-repair" }]);
  const run = await check();
  // (1200 × 3 + 50 × 15 + 24000 × 3 + 100 × 15 + 1400 × 3 + 60 × 15) / 1e6
  expect(run.phases[0]?.books.map((book) => [book.harness.costUsd, book.proxy.costUsd, book.runner.costUsd])).toEqual([
    [0.08295, 0.08295, 0.08295],
    [0.0012, 0.0012, 0.0012],
  ]);
  expect(listFindings(run)).toEqual([]);
  expect(printCheck(run)).toContain("the books agree");
});

describe.each([["before it was mirrored"], ["after it was mirrored"]])("a book that is changed %s", (when) => {
  const isMirrored = when.startsWith("after");

  async function tamper(change: () => void): Promise<RunCheck> {
    writeRun(journals, RUN, [{ calls: CALLS }]);
    if (isMirrored && countFindings([await check()]).unexplained > 0) throw new Error("the books differ before they are changed");
    change();
    return check();
  }

  const raise = (line: string): string => line.replace(/"cost_usd":([0-9.]+)/, (_match, usd: string) => `"cost_usd":${Number(usd) + 1e-5}`);
  const harnessFile = (): string => journals.file("harness", `session-${RUN}`);
  const runFile = (): string => journals.file("run", RUN);
  const billFile = (): string => journals.file("bill", DAY);
  const isAssistant = (line: string): boolean => line.includes('"type":"assistant"') && line.includes(`resp-${RUN}-1-3`);
  const isCompaction = (line: string): boolean => line.includes('"type":"compaction"');
  const isBill = (type: string) => (line: string) => line.includes(`"type":"${type}"`) && line.includes(`"id":"${RUN}-01-a1-c3"`);
  const isAttempt = (line: string): boolean => line.includes('"type":"phase_attempt"');
  const newId = (line: string): string => line.replace(/_[0-9a-f]{12}"/, '_abcdefabcdef"');
  /** The last call's cost in the runner's list. */
  const raiseCounted = (line: string): string => {
    const event = JSON.parse(line) as { payload: { calls: { cost_usd: number }[] } };
    const last = event.payload.calls.at(-1);
    if (last !== undefined) last.cost_usd += 1e-5;
    return JSON.stringify(event);
  };

  const CALL = `${RUN}-01-a1-c3`;
  const ATTEMPT = `attempt 1 of ${RUN}-01`;
  interface Book {
    readonly book: string;
    readonly file: () => string;
    readonly isLine: (line: string) => boolean;
    readonly raiseLine: (line: string) => string;
    /** Pattern of the call that must be named. */
    readonly call: string;
  }
  const books: Book[] = [
    { book: "the harness's assistant line", file: harnessFile, isLine: isAssistant, raiseLine: raise, call: `resp-${RUN}-1-3|${CALL}` },
    { book: "the harness's compaction line", file: harnessFile, isLine: isCompaction, raiseLine: raise, call: `hev_|${RUN}-01-a1-c2` },
    { book: "the proxy's closing line", file: billFile, isLine: isBill("bill_close"), raiseLine: raise, call: CALL },
    { book: "the runner's attempt", file: runFile, isLine: isAttempt, raiseLine: raiseCounted, call: `${ATTEMPT}|${CALL}` },
  ];

  test.each(books)("$book removed: unexplained, with the call", async ({ file, isLine, call }) => {
    const run = await tamper(() => journals.edit(file(), (line) => (isLine(line) ? undefined : line)));
    expect(countFindings([run]).unexplained).toBeGreaterThan(0);
    expect(
      listFindings(run)
        .map((finding) => finding.call)
        .join("\n"),
    ).toMatch(new RegExp(call));
  });

  test.each(books)("$book doubled, with its id and with a new one: unexplained, with the call", async ({ file, isLine, call }) => {
    for (const toDouble of [(line: string) => line, newId]) {
      forgetMirror();
      journals.remove();
      journals = openJournalsFolder();
      const run = await tamper(() => journals.edit(file(), (line) => (isLine(line) ? [line, toDouble(line)] : line)));
      expect(countFindings([run]).unexplained).toBeGreaterThan(0);
      expect(
        listFindings(run)
          .map((finding) => finding.call)
          .join("\n"),
      ).toMatch(new RegExp(call));
    }
  });

  test.each(books)("$book with 1e-5 USD more: unexplained, with the call", async ({ file, isLine, raiseLine, call }) => {
    const run = await tamper(() => journals.edit(file(), (line) => (isLine(line) ? raiseLine(line) : line)));
    expect(countFindings([run]).unexplained).toBeGreaterThan(0);
    expect(
      listFindings(run)
        .map((finding) => finding.call)
        .join("\n"),
    ).toMatch(new RegExp(call));
  });

  test.each([["bill_open"], ["bill_close"]])("a %s line removed: unexplained, with the call", async (type) => {
    const run = await tamper(() => journals.edit(billFile(), (line) => (isBill(type)(line) ? undefined : line)));
    expect(listFindings(run).filter((finding) => finding.call === CALL && !finding.isExplained)).not.toEqual([]);
  });

  test("both lines of a bill removed: unexplained, with the call", async () => {
    const run = await tamper(() => journals.edit(billFile(), (line) => (line.includes(`"id":"${RUN}-01-a1-c1"`) ? undefined : line)));
    expect(listFindings(run).filter((finding) => finding.call === `${RUN}-01-a1-c1` && !finding.isExplained)).not.toEqual([]);
  });
});

test.each([
  ["phase_attempt", `the total of attempt 1 of ${RUN}-01 (prompt)`],
  ["phase_end", `the total of ${RUN}-01 (prompt)`],
  ["run_finish", `the total of run ${RUN}`],
])("a total of the runner's (%s) that its parts do not add up to is unexplained, and named", async (type, call) => {
  writeRun(journals, RUN, [{ calls: CALLS }]);
  journals.edit(journals.file("run", RUN), (line) => {
    const event = JSON.parse(line) as { type: string; payload: { cost_usd: number } };
    if (event.type === type) event.payload.cost_usd += 1e-5;
    return JSON.stringify(event);
  });
  const wrong = listFindings(await check()).filter((finding) => !finding.isExplained);
  expect(wrong.map((finding) => finding.call)).toContain(call);
  expect(wrong.find((finding) => finding.call === call)?.amountUsd).toBeCloseTo(1e-5, 9);
});

describe("a call that was not finished", () => {
  const killed = { input: 2000, output: 30, missing: ["harness", "runner"] } as const;

  test("is explained where the kill is recorded: call, cause and the estimated amount", async () => {
    writeRun(journals, RUN, [{ calls: [CALLS[0], killed], status: "failed", cause: "timeout" }]);
    const run = await check();
    expect(countFindings([run])).toEqual({ explained: 1, unexplained: 0 });
    expect(listFindings(run)[0]).toMatchObject({
      call: `${RUN}-01-a1-c2`,
      cause: "unfinished call: the attempt was ended (timeout)",
      amountUsd: toUsd(killed),
    });
  });

  test("is unexplained where the attempt is recorded as done", async () => {
    writeRun(journals, RUN, [{ calls: [CALLS[0], killed] }]);
    const run = await check();
    expect(
      listFindings(run)
        .filter((finding) => !finding.isExplained)
        .map((finding) => finding.call),
    ).toContain(`${RUN}-01-a1-c2`);
  });

  test("is unexplained where later calls of the killed attempt are there: only the last can be unfinished", async () => {
    writeRun(journals, RUN, [{ calls: CALLS, status: "failed", cause: "timeout" }]);
    journals.edit(journals.file("harness", `session-${RUN}`), (line) => (line.includes(`resp-${RUN}-1-1`) ? undefined : line));
    const run = await check();
    expect(listFindings(run)).toMatchObject([{ call: `${RUN}-01-a1-c1`, isExplained: false, cause: "the harness has no line of it" }]);
  });

  test("that the CLI itself calls aborted is explained, with what the proxy estimates", async () => {
    writeRun(journals, RUN, [{ calls: [CALLS[0], { input: 2000, output: 30, end: "aborted" }], status: "cancelled", cause: "cancelled" }]);
    const run = await check();
    expect(listFindings(run)).toMatchObject([
      { isExplained: true, harnessUsd: null, runnerUsd: null, proxyUsd: 0.00645, amountUsd: 0.00645 },
    ]);
  });
});

test("a line that is cut out of a session shows by the count of its session_shutdown, though no mirror ever saw it", async () => {
  writeRun(journals, RUN, [{ calls: CALLS }]);
  journals.edit(journals.file("harness", `session-${RUN}`), (line) => (line.includes('"type":"prompt"') ? undefined : line));
  expect(listFindings(await check())).toMatchObject([
    { isExplained: false, cause: expect.stringMatching(/^its process wrote 8 lines, 7 are there/) as string },
  ]);
});

test("a run that no journal knows is an error that names it", async () => {
  writeRun(journals, RUN, [{ calls: CALLS }]);
  await expect(check("ffffffff")).rejects.toMatchObject({ code: "not-found", message: expect.stringContaining("ffffffff") as string });
});
