import type { ArgsDef, CommandDef, CommandMeta } from "citty";
import { FactoryError } from "../lib/errors.ts";

export interface FoundCommand {
  readonly command: CommandDef;
  /** The command it belongs to, for its usage text. */
  readonly path: CommandDef | undefined;
  /** The arguments after the command's own words. */
  readonly rest: string[];
}

/** Follows the words of a command line to the command they name. @throws bad-input for a word that names none */
export async function findCommand(root: CommandDef, args: readonly string[]): Promise<FoundCommand> {
  let found: FoundCommand = { command: root, path: undefined, rest: args[0] === "help" ? args.slice(1) : [...args] };
  for (;;) {
    const subCommands = await resolve(found.command.subCommands);
    const [word] = found.rest;
    if (subCommands === undefined || word === undefined || word.startsWith("-")) return found;
    const next = Object.hasOwn(subCommands, word) ? subCommands[word] : undefined;
    if (next === undefined) {
      const names = Object.keys(subCommands).join(", ");
      throw new FactoryError("bad-input", `unknown command ${word}: there are ${names}`, { field: "command" });
    }
    found = { command: (await resolve(next)) as CommandDef, path: await withPath(found), rest: found.rest.slice(1) };
  }
}

/** An option that the command does not know is refused: it could hide a typo. @throws bad-input */
export async function refuseUnknownOptions(command: CommandDef, rest: readonly string[]): Promise<void> {
  const known = (await resolve(command.args)) ?? {};
  for (const arg of rest) {
    if (arg === "--") return;
    if (!/^--?[A-Za-z]/.test(arg)) continue;
    const name = arg.replace(/^--?(no-)?/, "").split("=", 1)[0] ?? "";
    if (isKnown(known, name)) continue;
    const options = Object.entries(known).filter(([, definition]) => definition.type !== "positional");
    throw new FactoryError(
      "bad-input",
      `unknown option ${arg}: ${options.map(([option]) => `--${option}`).join(", ") || "this command has none"}`,
      { field: name },
    );
  }
}

function isKnown(known: ArgsDef, name: string): boolean {
  return Object.hasOwn(known, name) && known[name]?.type !== "positional";
}

async function withPath(found: FoundCommand): Promise<CommandDef> {
  const meta: CommandMeta = (await resolve(found.command.meta)) ?? {};
  const parent = found.path === undefined ? undefined : await resolve(found.path.meta);
  return { meta: { ...meta, name: [parent?.name, meta.name].filter((name) => name !== undefined).join(" ") } };
}

async function resolve<Value>(value: Value | Promise<Value> | (() => Value | Promise<Value>) | undefined): Promise<Value | undefined> {
  return typeof value === "function" ? await (value as () => Value | Promise<Value>)() : await value;
}
