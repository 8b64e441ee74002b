import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { PartReport } from "../../src/doctor.ts";
import { runCommandLine, startCommand } from "./support/command-line.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "harnais-doctor-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function examine(env: Record<string, string>): Promise<{ exitCode: number | null; part: (name: string) => PartReport | undefined }> {
  const { exitCode, stdout } = await runCommandLine(["doctor", "--json"], { cwd: root, env });
  const { parts } = JSON.parse(stdout) as { parts: PartReport[] };
  return { exitCode, part: (name) => parts.find((part) => part.name === name) };
}

const dataDir = (name: string): Record<string, string> => ({ HARNAIS_DATA_DIR: join(root, name) });

test("before the first start: what is there, what will be made, and nothing is made by looking", async () => {
  const { exitCode, part } = await examine({ ...dataDir("new"), OPENAI_API_KEY: "a-key-of-this-test" });
  expect(exitCode).toBe(0);
  expect(part("terminals")).toMatchObject({ status: "ok", version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  expect(part("models")?.detail).toContain("rehearsal, openai (OPENAI_API_KEY set), openrouter (OPENROUTER_API_KEY not set)");
  expect(part("database snapshot")).toMatchObject({ isRequired: false });
  expect(part("confinement")).toMatchObject({ status: "warning", detail: expect.stringContaining("level none") });
  expect(existsSync(join(root, "new"))).toBe(false);
});

test("afterwards: the rows as they are, in this process and by the server that has them", async () => {
  const env = dataDir("old");
  const add = ["providers", "add", "mine", "--base-url", "http://127.0.0.1:9/v1", "--dialect", "chat-completions", "--key-env", "MY_KEY"];
  expect((await runCommandLine(add, { cwd: root, env })).exitCode).toBe(0);
  const own = await examine({ ...env, MY_KEY: "a-key-of-this-test" });
  expect(own.part("models")?.detail).toContain("mine (MY_KEY set)");
  expect(own.part("database (embedded)")?.version).toMatch(/^\d+\.\d+$/);
  expect(own.part("database snapshot")).toBeUndefined();

  const server = startCommand(["serve", "--port", "0"], { cwd: root, env });
  onTestFinished(() => void server.child.kill("SIGKILL"));
  await expect.poll(server.stderr, { timeout: 30_000 }).toContain("harnais serves at");
  // The server's environment counts, not ours.
  const served = await examine({ ...env, MY_KEY: "a-key-of-this-test" });
  expect(served.part("models")?.detail).toContain("mine (MY_KEY not set)");
  expect(served.part("database (embedded)")?.detail).toContain("served at http://localhost:");
  server.child.kill("SIGTERM");
  await server.end;
});

test("a database that cannot be asked leaves the providers unknown", async () => {
  const { exitCode, part } = await examine({ ...dataDir("away"), DATABASE_URL: "postgres://me:hush-hush@127.0.0.1:9/none" });
  expect(exitCode).toBe(1);
  expect(part("database (server)")?.status).toBe("missing");
  expect(part("models")).toMatchObject({ status: "warning", detail: expect.stringContaining("providers unknown: ") });
});
