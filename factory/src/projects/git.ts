import { join } from "node:path";
import type { Config } from "../config.ts";
import type { CommandResult, Launcher } from "../launcher/process.ts";
import { FactoryError } from "../lib/errors.ts";
import { NEUTRAL_CONFIG, toConfigEnv } from "./git-config.ts";
import type { GitSetting } from "./git-config.ts";

/** Where and how one git call runs. */
export interface GitPlace {
  readonly cwd: string;
  /** Given for worktrees, so that git never believes the `.git` file an agent could have rewritten. */
  readonly gitDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Further settings of this call, e.g. the drivers to switch off. */
  readonly settings?: readonly GitSetting[];
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Bytes kept of the output's end. Default 16 MiB. */
  readonly maxOutputBytes?: number;
  /** Default 2 min. */
  readonly timeoutMs?: number;
}

/** The one door to git: allow-listed environment, no hook, no prompt, no pager, no filter of the checkout's choosing. */
export interface Git {
  /** Standard output. @throws git-failed with git's own last line; the abort reason on abort. */
  run(args: readonly string[], place: GitPlace, signal: AbortSignal): Promise<string>;
  /** The result whatever the exit status. @throws part-missing without git; git-failed at the timeout. */
  attempt(args: readonly string[], place: GitPlace, signal: AbortSignal): Promise<CommandResult>;
}

interface GitDeps {
  readonly launcher: Pick<Launcher, "runCommand">;
  readonly config: Pick<Config, "baseEnv" | "dataDir">;
}

const TIMEOUT_MS = 120_000; // below the idle limit of an agent (5 min)
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

export function createGit({ launcher, config }: GitDeps): Git {
  const attempt: Git["attempt"] = async (args, place, signal) => {
    const timeoutMs = place.timeoutMs ?? TIMEOUT_MS;
    const result = await launcher.runCommand(
      { file: "git", args },
      {
        cwd: place.cwd,
        env: toGitEnv(config, place),
        timeoutMs,
        maxOutputBytes: place.maxOutputBytes ?? MAX_OUTPUT_BYTES,
        ...(place.stdin === undefined ? {} : { stdin: place.stdin }),
      },
      signal,
    );
    if (result.timedOut) throw new FactoryError("git-failed", `git ${args[0]}: no end within ${timeoutMs / 1000} s in ${place.cwd}`);
    return result;
  };
  return {
    attempt,
    async run(args, place, signal) {
      const result = await attempt(args, place, signal);
      if (result.exitCode === 0) return result.stdout;
      throw new FactoryError("git-failed", `git ${args[0]}: ${lastLine(result)}`);
    },
  };
}

function toGitEnv(config: GitDeps["config"], place: GitPlace): Record<string, string> {
  return {
    ...config.baseEnv,
    // A folder that is never made: no ~/.gitconfig, no ~/.config/git, no ~/.netrc.
    HOME: join(config.dataDir, "git-home"),
    XDG_CONFIG_HOME: join(config.dataDir, "git-home"),
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_PAGER: "cat",
    GIT_EDITOR: "false",
    GIT_ASKPASS: "false",
    SSH_ASKPASS: "false",
    GIT_ALLOW_PROTOCOL: "file:https:ssh",
    ...toConfigEnv([...NEUTRAL_CONFIG, ...(place.settings ?? [])]),
    ...(place.gitDir === undefined ? {} : { GIT_DIR: place.gitDir }),
    ...(place.workTree === undefined ? {} : { GIT_WORK_TREE: place.workTree }),
    ...(place.indexFile === undefined ? {} : { GIT_INDEX_FILE: place.indexFile }),
    ...place.env,
  };
}

function lastLine({ stderr, stdout, exitCode, signal }: CommandResult): string {
  const lines = `${stdout}\n${stderr}`.split("\n").filter((line) => line.trim() !== "");
  // Advice (`hint:`) may follow the reason.
  const reason = lines.findLast((line) => /^(?:fatal|error):/.test(line)) ?? lines.at(-1);
  return redactUrls(reason?.trim() ?? `ended with ${signal ?? `exit code ${exitCode}`}`);
}

const URL_USERINFO = /([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@]{1,500}@/gi;

/** Takes user names and passwords out of the URLs of a message. */
export function redactUrls(text: string): string {
  return text.replace(URL_USERINFO, "$1[redacted:url-password]@");
}
