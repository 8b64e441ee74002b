import { createReadStream, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { FactoryError, messageOf } from "../lib/errors.ts";
import { toBillsFolder } from "./bill-journal.ts";

const MAX_DAYS = 7;
const OVERLAP_CHARS = 256;

/** Highest number of a job's bills on disk, 0 when it has none: from the newest day file back to the first that holds one, a week at most. @throws storage. */
export async function findLastBillNumber(dataDir: string, jobId: string): Promise<number> {
  const folder = toBillsFolder(dataDir);
  try {
    return await findInFolder(folder, jobId);
  } catch (error) {
    throw new FactoryError("storage", `bills cannot be read in ${folder} (${messageOf(error)}): make them readable`, { cause: error });
  }
}

async function findInFolder(folder: string, jobId: string): Promise<number> {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".jsonl")) : [];
  for (const name of files.sort().toReversed().slice(0, MAX_DAYS)) {
    const last = await findIn(join(folder, name), jobId);
    if (last > 0) return last;
  }
  return 0;
}

async function findIn(file: string, jobId: string): Promise<number> {
  const pattern = new RegExp(`"id":"${jobId.replaceAll(/[^A-Za-z0-9-]/g, String.raw`\$&`)}-c(\\d{1,9})"`, "g");
  let last = 0;
  let carried = "";
  for await (const chunk of createReadStream(file, { encoding: "latin1", highWaterMark: 1024 * 1024 }) as AsyncIterable<string>) {
    const text = carried + chunk;
    for (const found of text.matchAll(pattern)) last = Math.max(last, Number(found[1]));
    carried = text.slice(-OVERLAP_CHARS);
  }
  return last;
}
