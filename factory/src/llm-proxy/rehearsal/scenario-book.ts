import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { FactoryError, messageOf } from "../../lib/errors.ts";
import type { ModelScope } from "../proxy-port.ts";
import { parseScenario } from "./parse-scenario.ts";
import type { Scenario } from "./scenario.ts";

/** Where scenarios are looked for; files are read again when they change. */
export interface ScenarioBook {
  /** Searched last, for this run alone: its project's `.harnais/rehearsal/`. A folder that does not exist is fine. */
  addRun(runId: string, folder: string): void;
  forgetRun(runId: string): void;
  /** The first scenario of that name. @throws unknown-model; bad-scenario when its file is wrong. */
  find(name: string, scope?: ModelScope): Scenario;
}

const EXTENSIONS = [".yaml", ".yml"];

/** `folders` in the order of search: shipped, HARNAIS_SCENARIOS. A project cannot hide what stands there. */
export function createScenarioBook(folders: readonly string[]): ScenarioBook {
  const shared = [...new Set(folders)];
  const byRun = new Map<string, string>();
  const cache = new Map<string, { readonly stamp: string; readonly scenario: Scenario }>();

  function read(file: string): Scenario | undefined {
    const stamp = stampOf(file);
    if (stamp === undefined) return undefined;
    const cached = cache.get(file);
    if (cached?.stamp === stamp) return cached.scenario;
    const scenario = parseScenario(readText(file), file);
    cache.set(file, { stamp, scenario });
    return scenario;
  }

  function findIn(folder: string, name: string): Scenario | undefined {
    for (const extension of EXTENSIONS) {
      const scenario = read(join(folder, `${name}${extension}`));
      if (scenario?.name === name) return scenario;
    }
    return scenariosOf(folder).find((scenario) => scenario.name === name);
  }

  /** A wrong file hides only its own scenario. */
  function scenariosOf(folder: string): readonly Scenario[] {
    return filesOf(folder).flatMap((file) => {
      try {
        return read(file) ?? [];
      } catch (error) {
        if (error instanceof FactoryError) return [];
        throw error;
      }
    });
  }

  return {
    addRun: (runId, folder) => void byRun.set(runId, folder),
    forgetRun: (runId) => void byRun.delete(runId),
    find(name, scope) {
      const own = scope === undefined ? undefined : "folder" in scope ? scope.folder : byRun.get(scope.runId);
      const search = own === undefined ? shared : [...shared, own];
      if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(name))
        for (const folder of search) {
          const scenario = findIn(folder, name);
          if (scenario !== undefined) return scenario;
        }
      throw new FactoryError("unknown-model", `no rehearsal scenario "${name.slice(0, 80)}": looked in ${search.join(", ")}`, {
        field: "model",
      });
    },
  };
}

function stampOf(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() === true ? `${stats.ino}-${stats.size}-${stats.mtimeMs}` : undefined;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new FactoryError("bad-scenario", `${file}: cannot be read (${messageOf(error)})`, { cause: error });
  }
}

function filesOf(folder: string): readonly string[] {
  const entries = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(folder) : [];
  return entries
    .filter((entry) => EXTENSIONS.includes(extname(entry)) && !basename(entry).startsWith("."))
    .sort()
    .map((entry) => join(folder, entry));
}
