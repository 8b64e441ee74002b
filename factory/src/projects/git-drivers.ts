import type { GitSetting } from "./git-config.ts";
import type { Git, GitPlace } from "./git.ts";

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
