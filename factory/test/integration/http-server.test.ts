import { createServer, Server } from "node:net";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { Hono } from "hono";
import { afterEach, expect, test, vi } from "vitest";
import { listenHttp } from "../../src/http/server.ts";

afterEach(() => vi.restoreAllMocks());

/** Containers may be without IPv6. */
const hasV6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === "::1"));

const app = new Hono().get("/health", (c) => c.text("here"));
const tryHandle = (): boolean => false;

/** Something else listens on IPv6 loopback alone. */
async function occupy(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer().listen(0, "::1");
  await new Promise((resolve, reject) => server.once("listening", resolve).once("error", reject));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

test.skipIf(!hasV6)("any free port is one that is free on both families", async () => {
  const other = await occupy();
  const { listen } = Server.prototype;
  let isFirst = true;
  // The system's choice, where it is an unlucky one.
  vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    const unlucky = isFirst ? [other.port, ...args.slice(1)] : args;
    isFirst = false;
    return Reflect.apply(listen, this, unlucky) as Server;
  });
  const server = await listenHttp(app, { port: 0, tryHandle });
  expect(server.port).not.toBe(other.port);
  for (const host of ["127.0.0.1", "[::1]"]) expect(await (await fetch(`http://${host}:${server.port}/health`)).text()).toBe("here");
  await server.close(0);
  other.close();
});

test.skipIf(!hasV6)("a port that was named is not exchanged for another", async () => {
  const other = await occupy();
  await expect(listenHttp(app, { port: other.port, tryHandle })).rejects.toMatchObject({ code: "port-in-use" });
  other.close();
});
