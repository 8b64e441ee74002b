import type { Config } from "../config.ts";
import { type Api, createApi, findServer } from "../http/api-client.ts";

/**
 * The API for a command: a server's when one serves this data folder, else the same application in this process.
 * `carriesOutRuns`: without a server this process must carry out the runs it makes.
 * @throws base-owned when a process that serves no API owns the embedded base; server-unreachable
 */
export async function connectApi(config: Config, { carriesOutRuns = false }: { carriesOutRuns?: boolean } = {}): Promise<Api> {
  const server = await findServer(config);
  if (server !== undefined) return createApi(server);
  // Lazy: a command that talks to a server must not load the factory.
  const { startInProcess } = await import("../start-factory.ts");
  return createApi(await startInProcess(config, { carriesOutRuns }));
}
