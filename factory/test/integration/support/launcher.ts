import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../../../src/launcher/launch.ts";
import type { Command, LaunchOptions, ProcessEnd, RunningProcess } from "../../../src/launcher/process.ts";

const FAKE_AGENT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "fixtures", "fake-agent.ts");
const MINUTE_MS = 60_000;

export const CHILD_ENV = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };

export const fakeAgent = (behaviour: string, argument: string | number = ""): Command => ({
  file: process.execPath,
  args: [FAKE_AGENT, behaviour, String(argument)],
});

export interface Launched {
  readonly running: RunningProcess;
  readonly lines: string[];
  /** Resolves at the first line that says so. */
  heard(text: string): Promise<void>;
}

/** Launches with quiet defaults; lines are collected. */
export function launchForTest(command: Command, options: Partial<LaunchOptions> = {}, signal = new AbortController().signal): Launched {
  const lines: string[] = [];
  const waiting: { text: string; resolve: () => void }[] = [];
  const running = launch(
    command,
    {
      cwd: dirname(FAKE_AGENT),
      env: CHILD_ENV,
      terminal: true,
      confinement: "none",
      limits: { timeoutMs: 5 * MINUTE_MS },
      onLine(line) {
        lines.push(line);
        for (const { text, resolve } of waiting) if (line === text) resolve();
      },
      ...options,
    },
    signal,
  );
  const heard = (text: string): Promise<void> =>
    lines.includes(text) ? Promise.resolve() : new Promise((resolve) => waiting.push({ text, resolve }));
  return { running, lines, heard };
}

export async function launchToEnd(command: Command, options: Partial<LaunchOptions> = {}): Promise<{ end: ProcessEnd; lines: string[] }> {
  const { running, lines } = launchForTest(command, options);
  return { end: await running.done, lines };
}

/** Pids of the live processes whose command line holds `text`. */
export function pidsWithArgument(text: string): number[] {
  return readdirSync("/proc")
    .filter((folder) => /^\d+$/.test(folder))
    .filter((folder) => {
      try {
        return readFileSync(`/proc/${folder}/cmdline`, "utf8").split("\0").includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}
