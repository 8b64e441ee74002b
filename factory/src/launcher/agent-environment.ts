import { FactoryError } from "../lib/errors.ts";

/**
 * The whole environment of a child: the allow-listed part of ours (`config.baseEnv`) and what this child needs.
 * Nothing else is inherited, so no secret of ours reaches it. Later names win; undefined removes a name.
 * @throws bad-input for a name that a shell could not carry on.
 */
export function toChildEnv(
  baseEnv: Readonly<Record<string, string>>,
  extra: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...baseEnv, ...extra })) {
    if (value === undefined) continue;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new FactoryError("bad-input", `${JSON.stringify(name)} is not a name of an environment variable`, { field: name });
    env[name] = value;
  }
  return env;
}
