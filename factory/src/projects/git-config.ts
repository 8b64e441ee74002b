/** A git setting as name and value; given by environment, so that a name with `=` in it is no trap. */
export type GitSetting = readonly [name: string, value: string];

/**
 * Settings that win over whatever stands in the repository's config, which an agent may have written: every way in
 * which git starts a program of the config's choosing is closed. Filters and diff drivers have free names and are
 * closed by `readDriverSettings` (git-drivers.ts); alternates, includes and `core.worktree` only choose data (the folders are given).
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
