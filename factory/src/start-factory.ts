import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config.ts";
import { prepareDataDir } from "./db/data-dir.ts";
import type { Connection } from "./http/api-client.ts";
import { type HttpServer, listenHttp } from "./http/server.ts";
import { removeServerFile, writeServerFile } from "./http/server-file.ts";
import { createLauncher } from "./launcher/create-launcher.ts";
import { createFactory } from "./main.ts";
import { createGit } from "./projects/git.ts";
import { createSampleRepository } from "./projects/sample-repository.ts";

// How a factory is brought to life: as a server, or within a command.

const STOP_REASON = "the factory stops";
const STOP_GRACE_MS = 2_000;
const HOUSEKEEPING_MS = 5_000;
/** Mirrors follow each attempt; the timer catches up with what came otherwise. */
const MIRROR_MS = 15_000;

/** `harnais serve`: everything in one process, found by clients through `<data>/server.json`. @throws port-in-use, base-owned, … */
export async function startServer(config: Config): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const factory = await createFactory(config, { scope: "any" });
  const { house, worker } = factory;
  const timers: NodeJS.Timeout[] = [];
  let server: HttpServer | undefined;
  const stop = async (): Promise<void> => {
    removeServerFile(config.dataDir);
    for (const timer of timers) clearInterval(timer);
    await worker.stop(STOP_REASON);
    const closing = server?.close(STOP_GRACE_MS);
    await factory.stop();
    await closing;
  };
  try {
    server = await listenHttp(factory.app, { port: config.port, tryHandle: house.proxy.tryHandle });
    house.proxy.mountAt(`http://127.0.0.1:${server.port}`);
    await factory.keepHouse();
    timers.push(setInterval(() => void factory.keepHouse(), HOUSEKEEPING_MS));
    timers.push(setInterval(() => void house.mirrors.toPostgres().then(() => house.mirrors.toSqlite()), MIRROR_MS));
    worker.start();
    writeServerFile(config.dataDir, { url: server.url, token: factory.token, pid: process.pid, startedAt: new Date().toISOString() });
    return { url: server.url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The same application without a server, for a command. `carriesOutRuns`: it carries out the runs that the command makes. */
export async function startInProcess(config: Config, { carriesOutRuns }: { carriesOutRuns: boolean }): Promise<Connection> {
  const factory = await createFactory(config, { scope: "announced" });
  try {
    if (carriesOutRuns) {
      await factory.house.proxy.listen({ host: "127.0.0.1", port: 0 });
      await factory.keepHouse();
      factory.worker.start();
    }
  } catch (error) {
    await factory.stop();
    throw error;
  }
  return {
    where: "this process",
    isInProcess: true,
    token: factory.token,
    send: async (path, init) => factory.app.request(path, init),
    async close() {
      await factory.worker.stop(STOP_REASON);
      await factory.stop();
    },
  };
}

/** The sample project as a repository in `folder`, made when it is not there. */
export async function ensureSampleRepository(config: Config, folder: string): Promise<void> {
  if (existsSync(join(folder, ".git"))) return;
  prepareDataDir(config.dataDir);
  const git = createGit({ launcher: createLauncher(), config });
  await createSampleRepository({ git, config }, folder, new AbortController().signal);
}
