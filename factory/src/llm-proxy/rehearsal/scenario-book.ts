import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { FactoryError, messageOf } from "../../lib/errors.ts";
import { parseScenario } from "./parse-scenario.ts";
import type { Scenario } from "./scenario.ts";

/** Where scenarios are looked for; files are read again when they change. */
export interface ScenarioBook {
  /** Adds a folder at the end of the search (a project's `.harnais/rehearsal/`); one that does not exist is fine. */
  addFolder(folder: string): void;
  /** The first scenario of that name. @throws unknown-model; bad-scenario when its file is wrong. */
  find(name: string): Scenario;
  /** Names of every readable scenario, sorted. */
  names(): readonly string[];
}

const EXTENSIONS = [".yaml", ".yml"];

/** `folders` in the order of search: shipped, HARNAIS_SCENARIOS, projects'. */
export function createScenarioBook(folders: readonly string[]): ScenarioBook {
  const search = [...new Set(folders)];
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
    addFolder: (folder) => {
      if (!search.includes(folder)) search.push(folder);
    },
    find(name) {
      if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(name))
        for (const folder of search) {
          const scenario = findIn(folder, name);
          if (scenario !== undefined) return scenario;
        }
      throw new FactoryError("unknown-model", `no rehearsal scenario "${name.slice(0, 80)}": looked in ${search.join(", ")}`, {
        field: "model",
      });
    },
    names: () => [...new Set(search.flatMap(scenariosOf).map((scenario) => scenario.name))].sort(),
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
