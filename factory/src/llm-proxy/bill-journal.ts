import type { Bill } from "@harnais/contracts/bill.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { FactoryError, messageOf } from "../lib/errors.ts";
import { type Journal, openJournal } from "../lib/journal.ts";
import { type BillOpening, toBillLine, toUtcDay, type WrittenBillLine } from "./bill-line.ts";

/** `<data>/traces/bills/<UTC day>.jsonl`: an opening line when a call goes up, a closing one when it has ended. */
export interface BillJournal {
  /** @throws storage when the line cannot be written: then the call must not go up. */
  open(opening: BillOpening): void;
  /** Never throws: a closing line that cannot be written now is kept and written before the next line. */
  close(bill: Bill): void;
  /** Writes what is still kept; logs what is lost if that fails. */
  stop(): void;
}

export const toBillsFolder = (dataDir: string): string => join(dataDir, "traces", "bills");

export function createBillJournal(dataDir: string, log: Logger, now: () => Date = () => new Date()): BillJournal {
  const folder = toBillsFolder(dataDir);
  let kept: WrittenBillLine[] = [];
  let journal: Journal | undefined;

  function append(line: WrittenBillLine): void {
    const file = join(folder, `${toUtcDay(new Date(line.ts))}.jsonl`);
    // A file that was moved away would go on taking lines that no reader finds.
    if (journal !== undefined && (journal.file !== file || !existsSync(file))) closeFile();
    journal ??= openJournal(file);
    journal.append(line);
  }

  function closeFile(): void {
    journal?.close();
    journal = undefined;
  }

  function writeKept(): void {
    while (kept[0] !== undefined) {
      append(kept[0]);
      kept = kept.slice(1);
    }
  }

  return {
    open(opening) {
      try {
        writeKept();
        append(toBillLine("bill_open", opening, now()));
      } catch (error) {
        throw new FactoryError("storage", `bills cannot be written to ${folder} (${messageOf(error)}): make room, then try again`, {
          cause: error,
        });
      }
    },
    close(bill) {
      const line = toBillLine("bill_close", bill, now());
      try {
        writeKept();
        append(line);
      } catch (error) {
        kept.push(line);
        log.error({ bill: bill.id, kept: kept.length, error: messageOf(error) }, "a closing bill line is kept until it can be written");
      }
    },
    stop() {
      try {
        writeKept();
      } catch (error) {
        log.error({ bills: kept.map((line) => line.payload.id), error: messageOf(error) }, "closing bill lines are lost");
      }
      closeFile();
    },
  };
}
