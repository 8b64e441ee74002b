import { existsSync, readFileSync, realpathSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, extname, join } from "node:path";
import { z } from "zod";
import { locateProgram } from "../launcher/locate-program.ts";
import { FactoryError } from "../lib/errors.ts";
import type { AgentProgram } from "./agent-adapter.ts";

const PACKAGE = "@earendil-works/pi-coding-agent";
const CLI_IN_PACKAGE = join("dist", "bundle", "cli.js");
const SCRIPTS = [".js", ".mjs", ".cjs", ".ts", ".mts"];
const MAX_PARENTS = 6;

/**
 * pi as HARNAIS_PI names it, else of the npm package, else on the PATH. A script is run by this process's own Node:
 * pi needs 22.19, and its shebang takes whatever Node is first on the PATH.
 * @throws part-missing
 */
export function locatePi({ piPath, searchPath }: { piPath: string | undefined; searchPath: string }): AgentProgram {
  if (piPath !== undefined) return toProgram(checkNamed(piPath));
  const file = findInstalled() ?? findOnPath(searchPath);
  if (file !== undefined) return toProgram(file);
  throw new FactoryError("part-missing", "pi is not installed: run `npm install` in the clone, or name a pi with HARNAIS_PI=/path/to/pi");
}

function checkNamed(piPath: string): string {
  if (existsSync(piPath)) return piPath;
  throw new FactoryError(
    "part-missing",
    `HARNAIS_PI names ${piPath}, which does not exist: correct it, or unset it to use the installed pi`,
    {
      field: "HARNAIS_PI",
    },
  );
}

function findInstalled(): string | undefined {
  const manifest = readOrUndefined(() => findPackageJSON(PACKAGE, import.meta.url));
  if (manifest === undefined) return undefined;
  const file = join(dirname(manifest), CLI_IN_PACKAGE);
  return existsSync(file) ? file : undefined;
}

/** Behind the link that npm makes stands the script itself. */
function findOnPath(searchPath: string): string | undefined {
  return readOrUndefined(() => realpathSync(locateProgram({ file: "pi", args: [] }, { cwd: "/", env: { PATH: searchPath } })));
}

function toProgram(file: string): AgentProgram {
  const isScript = SCRIPTS.includes(extname(file));
  return {
    command: isScript ? { file: process.execPath, args: [file] } : { file, args: [] },
    version: readVersion(file),
  };
}

const ManifestSchema = z.object({ name: z.literal(PACKAGE), version: z.string() });

/** From the package that holds the script; `unknown` for a program of another making. */
function readVersion(file: string): string {
  let folder = dirname(readOrUndefined(() => realpathSync(file)) ?? file);
  for (let step = 0; step < MAX_PARENTS; step++) {
    const manifest = ManifestSchema.safeParse(readOrUndefined(() => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))));
    if (manifest.success) return manifest.data.version;
    folder = dirname(folder);
  }
  return "unknown";
}

function readOrUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
