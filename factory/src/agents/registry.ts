import { join } from "node:path";
import { HARNESSES, type Harness } from "@harnais/contracts/statuses.ts";
import type { Config } from "../config.ts";
import { FactoryError } from "../lib/errors.ts";
import type { AgentAdapter } from "./agent-adapter.ts";
import { createPi } from "./pi.ts";

/** The agent CLIs that are built, by name. */
export type Agents = ReadonlyMap<Harness, AgentAdapter>;

export function createAgents({ piPath, baseEnv, rootDir }: Pick<Config, "piPath" | "baseEnv" | "rootDir">): Agents {
  const pi = createPi({ piPath, searchPath: baseEnv["PATH"] ?? "", probeFile: join(rootDir, "probes", "pi", "harnais-trace.ts") });
  return new Map([[pi.name, pi]]);
}

/** @throws part-missing for an agent CLI that is not built yet. */
export function findAgent(agents: Agents, harness: Harness): AgentAdapter {
  const agent = agents.get(harness);
  if (agent !== undefined) return agent;
  const built = HARNESSES.filter((name) => agents.has(name)).join(", ");
  throw new FactoryError("part-missing", `agent CLI "${harness}" is not built yet: use ${built}`);
}
