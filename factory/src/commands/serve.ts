import { defineCommand } from "citty";
import { z } from "zod";
import { loadConfig } from "../config.ts";
import { startServer } from "../start-factory.ts";
import { parseInput } from "./parse-input.ts";

const Options = z.object({ port: z.coerce.number<string>().int().min(0).max(65_535).optional() });

export default defineCommand({
  meta: { name: "serve", description: "The whole: API, events, LLM proxy and worker in one process" },
  args: { port: { type: "string", description: "port on loopback; 0 = any free one (default 4600, HARNAIS_PORT)" } },
  async run({ args }) {
    const { port } = parseInput(Options, { port: args.port });
    const config = loadConfig({ searchUpward: false });
    const server = await startServer({ ...config, port: port ?? config.port });
    process.stderr.write(`harnais serves at ${server.url} (data ${config.dataDir})\n`);
    const signal = await stopSignal();
    process.stderr.write(`harnais: ${signal}, stopping\n`);
    await server.stop();
  },
});

/** The first signal that asks to stop; a second one ends the process at once. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        process.on(signal, () => process.exit(130));
        resolve(signal);
      });
    }
  });
}
