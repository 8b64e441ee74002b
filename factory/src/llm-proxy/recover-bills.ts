import { parseJson } from "@harnais/contracts/json.ts";
import { BillLineSchema, MAX_LINE_BYTES } from "@harnais/contracts/journal-line.ts";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isAlive } from "../launcher/process-table.ts";
import { openJournal } from "../lib/journal.ts";
import { toBill } from "./bill.ts";
import { toBillsFolder } from "./bill-journal.ts";
import { type BillOpening, BillOpeningSchema, toUtcDay, type WrittenBillLine } from "./bill-line.ts";

const DAY_FILE = /^\d{4}-\d{2}-\d{2}\.jsonl$/;
const MARKER = ".closed-before";
const DAY_MS = 86_400_000;
const LF = 10;

interface Opened {
  readonly eventId: string;
  readonly ts: string;
  readonly file: string;
  readonly opening: BillOpening;
}

/**
 * Closes the bills of processes that died with a call in flight: outcome `proxy-killed`, estimated from the opening.
 * Two processes may do so at once: they write the same line with the same id, which counts once.
 * @returns the ids of the bills it closed.
 */
export async function recoverBills(dataDir: string): Promise<readonly string[]> {
  const folder = toBillsFolder(dataDir);
  if (!existsSync(folder)) return [];
  const opened = await readUnclosed(folder);
  const dead = [...opened.values()].filter(({ opening }) => !isAlive({ pid: opening.process.pid, startTime: opening.process.started }));
  for (const [file, bills] of Map.groupBy(dead, (bill) => bill.file)) {
    const journal = openJournal(file);
    for (const bill of bills) journal.append(toKilledLine(bill));
    journal.close();
  }
  const live = [...opened.values()].filter((bill) => !dead.includes(bill)).map((bill) => basename(bill.file, ".jsonl"));
  // A call may close on the day after its opening, not later: older files need no second reading.
  writeFileSync(join(folder, MARKER), [...live, toUtcDay(new Date(Date.now() - DAY_MS))].sort()[0] ?? "", { mode: 0o600 });
  return dead.map((bill) => bill.opening.id);
}

/** Openings without a closing line, by bill id, in the day files that were not known as closed. */
async function readUnclosed(folder: string): Promise<ReadonlyMap<string, Opened>> {
  const marker = join(folder, MARKER);
  const since = existsSync(marker) ? readFileSync(marker, "utf8").trim() : "";
  const opened = new Map<string, Opened>();
  const closed = new Set<string>();
  for (const name of readdirSync(folder)
    .filter((entry) => DAY_FILE.test(entry))
    .sort()) {
    if (basename(name, ".jsonl") < since) continue;
    for await (const line of readLines(join(folder, name))) noteLine(line, join(folder, name), { opened, closed });
  }
  return opened;
}

function noteLine(text: string, file: string, books: { readonly opened: Map<string, Opened>; readonly closed: Set<string> }): void {
  const parsed = BillLineSchema.safeParse(parseJson(text));
  if (!parsed.success) return;
  const line = parsed.data;
  const id = line.payload["id"];
  if (typeof id !== "string") return;
  if (line.type === "bill_close") {
    books.closed.add(id);
    books.opened.delete(id);
    return;
  }
  const opening = BillOpeningSchema.safeParse(line.payload);
  if (opening.success && !books.closed.has(id)) books.opened.set(id, { eventId: line.event_id, ts: line.ts, file, opening: opening.data });
}

/** Every part follows from the opening, so that a second recovery at the same moment writes the same line. */
function toKilledLine({ eventId, ts, opening }: Opened): WrittenBillLine {
  const payload = toBill(opening, {
    ...{ outcome: "proxy-killed", httpStatus: null, modelAnswered: null, finishReason: null, responseId: null },
    ...{ responseBytes: 0, firstByteMs: null, upstreamMs: null, totalMs: null, usage: { type: "estimated", outputChars: 0 } },
  });
  const hash = createHash("sha256").update(`${eventId} proxy-killed`).digest("hex").slice(0, 12);
  const name = `${opening.provider}/${opening.model_asked}`;
  return { event_id: `bil_${hash}`, ts, session_id: opening.session_id, type: "bill_close", name, payload };
}

/** Lines of a file; one that is too long or torn is dropped. */
async function* readLines(file: string): AsyncGenerator<string> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (let end = held.indexOf(LF); end !== -1; end = held.indexOf(LF)) {
      yield held.toString("utf8", 0, end);
      held = held.subarray(end + 1);
    }
    if (held.length > MAX_LINE_BYTES) held = Buffer.alloc(0);
  }
  yield held.toString("utf8");
}
