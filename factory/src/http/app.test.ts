import { Hono } from "hono";
import pino from "pino";
import { expect, test } from "vitest";
import { type ErrorCode, FactoryError } from "../lib/errors.ts";
import { createApp } from "./app.ts";

const TOKEN = "t".repeat(32);

async function answerTo(error: Error): Promise<{ status: number; body: unknown }> {
  const route = new Hono().get("/broken", () => {
    throw error;
  });
  const app = createApp({ token: TOKEN, version: "0.0.0", log: pino({ level: "silent" }), routes: [route], health: async () => ({}) });
  const response = await app.request("/api/broken", { headers: { authorization: `Bearer ${TOKEN}` } });
  return { status: response.status, body: await response.json() };
}

test.each<[ErrorCode, number]>([
  ["bad-input", 400],
  ["refused", 403],
  ["not-found", 404],
  ["conflict", 409],
  ["base-owned", 503],
  ["database-unreachable", 503],
  ["server-unreachable", 503],
  ["storage", 507],
])("%s is answered with %i", async (code, status) => {
  expect(await answerTo(new FactoryError(code, "what", { field: "which" }))).toEqual({
    status,
    body: { error: { code, message: "what", field: "which" } },
  });
});

test("a bug says nothing of itself", async () => {
  const { status, body } = await answerTo(new Error("the inside"));
  expect(status).toBe(500);
  expect(JSON.stringify(body)).not.toContain("the inside");
});
