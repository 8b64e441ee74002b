import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { FactoryError } from "../lib/errors.ts";

/** Takes a request that is its own and says so; the LLM proxy streams past the application. */
export type TryHandle = (...request: Parameters<RequestListener>) => boolean;

export interface HttpServer {
  readonly port: number;
  /** `http://localhost:<port>`. */
  readonly url: string;
  /** Stops listening, ends what is open after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const V4 = "127.0.0.1";
const V6 = "::1";
/** A port that the system calls free is free on IPv4 only: another program may have it on IPv6. */
const MAX_FREE_PORT_TRIES = 10;

/**
 * Listens on loopback, both families (D4); port 0 is any free one.
 * @throws port-in-use
 */
export async function listenHttp(app: Hono, { port, tryHandle }: { port: number; tryHandle: TryHandle }): Promise<HttpServer> {
  const toApp = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const listener: RequestListener = (request, response) => {
    if (!tryHandle(request, response)) void toApp(request, response);
  };
  const servers = await listenBoth(listener, port);
  const chosen = (servers[0].address() as AddressInfo).port;
  return {
    port: chosen,
    url: `http://localhost:${chosen}`,
    close: async (graceMs) => void (await Promise.all(servers.map((server) => closeServer(server, graceMs)))),
  };
}

async function listenBoth(listener: RequestListener, port: number): Promise<[Server, ...Server[]]> {
  for (let tries = 1; ; tries++) {
    const v4 = await listen(listener, { host: V4, port });
    try {
      return [v4, await listen(listener, { host: V6, port: (v4.address() as AddressInfo).port })];
    } catch (error) {
      if (isWithoutV6(error)) return [v4];
      v4.close();
      if (port !== 0 || tries === MAX_FREE_PORT_TRIES || !isInUse(error)) throw error;
    }
  }
}

function listen(listener: RequestListener, { host, port }: { host: string; port: number }): Promise<Server> {
  return new Promise((resolve, reject) => {
    // Streams of models and events last longer than any fixed request time.
    const server = createServer({ requestTimeout: 0, headersTimeout: 30_000 }, listener);
    server.once("error", (error: NodeJS.ErrnoException) => {
      const inUse = error.code === "EADDRINUSE";
      reject(
        inUse
          ? new FactoryError(
              "port-in-use",
              `port ${port} is in use: stop what listens there, or choose another with --port (0 = any free one)`,
            )
          : error,
      );
    });
    server.listen(port, host, () => resolve(server));
  });
}

const isInUse = (error: unknown): boolean => error instanceof FactoryError && error.code === "port-in-use";

const isWithoutV6 = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EADDRNOTAVAIL" || error.code === "EAFNOSUPPORT");

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
