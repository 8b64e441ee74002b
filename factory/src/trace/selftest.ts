import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ingestTraces } from "./ingest-traces.ts";
import { toJournalFile } from "./journal-files.ts";
import { openMirror } from "./mirror-schema.sql.ts";
import { selectPhaseFigures } from "./selftest.sql.ts";

export interface SelftestResult {
  readonly ok: boolean;
  /** Lines of all journals that the mirror took. */
  readonly mirrored: number;
  readonly replayed: number;
  /** Harness lines that the view joins to the phase. */
  readonly joined: number;
  readonly tokens: number;
}

const RUN_ID = "5e1f7e57";
const PHASE_ID = `${RUN_ID}-01`;
const SESSION_ID = "selftest-session";
const TS = "2026-01-01T00:00:00.000Z";
const ASSISTANT = {
  input: 1000,
  output: 500,
  cache_read: 0,
  cache_write: 0,
  total_tokens: 1500,
  cost_usd: null,
  stop_reason: "stop",
  tool_calls: 0,
};

/** Mirrors three lines (two of a session, one that joins it to a phase) in a temporary folder, twice. */
export async function runSelftest(): Promise<SelftestResult> {
  const dataDir = mkdtempSync(join(tmpdir(), "harnais-selftest-"));
  try {
    const harness = [
      { event_id: "hev_000000000001", ts: TS, session_id: SESSION_ID, type: "turn_start", name: "turn 1", payload: { turn: 1 } },
      { event_id: "hev_000000000002", ts: TS, session_id: SESSION_ID, type: "assistant", name: "self/test", payload: ASSISTANT },
    ];
    const joining = { session_id: SESSION_ID, attempt: 1, harness: "pi" };
    const runner = [
      { event_id: "evt_000000000001", ts: TS, run_id: RUN_ID, phase_id: PHASE_ID, type: "phase_session", name: "prompt", payload: joining },
    ];
    writeLines(toJournalFile(dataDir, "harness", SESSION_ID).path, harness);
    writeLines(toJournalFile(dataDir, "run", RUN_ID).path, runner);
    const dbFile = join(dataDir, "factory.db");
    const first = await ingestTraces({ dataDir, dbFile });
    // In files that it does not know: every line is offered again.
    writeLines(toJournalFile(dataDir, "harness", "replay").path, harness);
    writeLines(toJournalFile(dataDir, "run", "replay").path, runner);
    const second = await ingestTraces({ dataDir, dbFile });
    const mirror = openMirror(dbFile);
    const { joined, tokens } = selectPhaseFigures(mirror, PHASE_ID);
    mirror.close();
    const mirrored = first.harnessEvents + first.runnerEvents;
    const replayed = second.harnessEvents + second.runnerEvents;
    return { ok: mirrored === 3 && replayed === 0 && joined === 2 && tokens === 1500, mirrored, replayed, joined, tokens };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function writeLines(file: string, lines: readonly object[]): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}
