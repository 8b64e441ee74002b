import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { FactoryError } from "../lib/errors.ts";
import type { Command } from "./process.ts";

/**
 * Absolute path of the program, looked up on the given environment's PATH.
 * @throws part-missing, not-found (working folder), bad-input (a NUL in a word of the command).
 */
export function locateProgram(command: Command, { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> }): string {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new FactoryError("not-found", `the working folder ${cwd} of ${command.file} does not exist`);
  // The system would cut the word at the NUL without a word.
  const words = [command.file, ...command.args, cwd, ...Object.entries(env).flat()];
  if (words.some((word) => word.includes("\0")))
    throw new FactoryError(
      "bad-input",
      `a word of the command ${JSON.stringify(command.file)} or of its environment holds a NUL character`,
    );
  if (command.file.includes("/")) {
    const path = isAbsolute(command.file) ? command.file : resolve(cwd, command.file);
    if (isProgram(path)) return path;
    throw new FactoryError("part-missing", `program ${path} not found or not executable: install it or correct its path`);
  }
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const path = folders.map((folder) => resolve(cwd, join(folder, command.file))).find(isProgram);
  if (path !== undefined) return path;
  throw new FactoryError("part-missing", `program "${command.file}" not found on PATH (${folders.join(delimiter) || "empty"}): install it`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
