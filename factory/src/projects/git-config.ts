import type { Git, GitPlace } from "./git.ts";

/** A git setting as name and value; given by environment, so that a name with `=` in it is no trap. */
export type GitSetting = readonly [name: string, value: string];

/**
 * Settings that win over whatever stands in the repository's config, which an agent may have written: every way in
 * which git starts a program of the config's choosing is closed. Filters and diff drivers have free names and are
 * closed by `readDriverSettings`; alternates, includes and `core.worktree` only choose data (the folders are given).
 */
export const NEUTRAL_CONFIG: readonly GitSetting[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.untrackedCache", "false"],
  ["core.splitIndex", "false"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.pager", "cat"],
  ["core.editor", "false"],
  ["core.askPass", "false"],
  ["core.sshCommand", "ssh -oBatchMode=yes"],
  ["core.alternateRefsCommand", "false"],
  ["core.quotePath", "false"],
  ["credential.helper", ""],
  ["commit.gpgSign", "false"],
  ["tag.gpgSign", "false"],
  ["gpg.program", "false"],
  ["gpg.ssh.program", "false"],
  ["gpg.x509.program", "false"],
  ["log.showSignature", "false"],
  ["submodule.recurse", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["safe.bareRepository", "explicit"],
  ["protocol.allow", "never"],
  ["protocol.file.allow", "always"],
  ["protocol.https.allow", "always"],
  ["protocol.ssh.allow", "always"],
  ["color.ui", "false"],
];

/** Settings as the environment variables git reads them from (GIT_CONFIG_COUNT, git-config(1)). */
export function toConfigEnv(settings: readonly GitSetting[]): Record<string, string> {
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  for (const [index, [name, value]] of settings.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = name;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return env;
}

const DRIVER = /^(filter|diff|merge)\.(.+)\.[^.]+$/s;

/**
 * Switches off every filter, diff and merge driver that the repository's config names: they are programs, and an
 * agent can write the config and the attributes that call them. A repository with git-lfs keeps its pointer files.
 */
export async function readDriverSettings(git: Git, place: GitPlace, signal: AbortSignal): Promise<GitSetting[]> {
  const listed = await git.run(["config", "--list", "--name-only", "-z"], place, signal);
  const drivers = new Set<string>();
  for (const name of listed.split("\0")) {
    const [, kind, driver] = DRIVER.exec(name) ?? [];
    if (kind !== undefined && driver !== undefined) drivers.add(`${kind}.${driver}`);
  }
  return [...drivers].flatMap(toOffSettings);
}

function toOffSettings(driver: string): GitSetting[] {
  if (driver.startsWith("diff."))
    return [
      [`${driver}.command`, ""],
      [`${driver}.textconv`, ""],
    ];
  if (driver.startsWith("merge.")) return [[`${driver}.driver`, "false"]];
  return [
    [`${driver}.clean`, ""],
    [`${driver}.smudge`, ""],
    [`${driver}.process`, ""],
    [`${driver}.required`, "false"],
  ];
}
