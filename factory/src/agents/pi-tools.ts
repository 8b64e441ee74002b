import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { AgentTask } from "./agent-adapter.ts";

const READ_TOOLS = ["read", "grep", "find", "ls"];
const CODE_TOOLS = ["read", "bash", "edit", "write", "grep", "find", "ls"];

/** Programs that pi's tools start; offline it cannot fetch them, and the tool would only answer that they are missing. */
export const TOOL_PROGRAMS: Readonly<Record<string, string>> = { grep: "rg", find: "fd" };

/** Tools of the mode, less what the task denies; `explore` can only be narrowed. Tools whose program is not on `searchPath` are left out. */
export function toPiTools({ mode, tools }: Pick<AgentTask, "mode" | "tools">, searchPath: string): string[] {
  const ofMode = mode === "explore" ? READ_TOOLS : CODE_TOOLS;
  return ofMode
    .filter((tool) => (tools?.allow?.includes(tool) ?? true) && !tools?.deny?.includes(tool))
    .filter((tool) => TOOL_PROGRAMS[tool] === undefined || isOnPath(TOOL_PROGRAMS[tool], searchPath));
}

/** True when a program of this name can be started from `searchPath`. */
export function isOnPath(program: string, searchPath: string): boolean {
  return searchPath.split(delimiter).some((folder) => {
    if (folder === "") return false;
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
