import { expect, test } from "vitest";
import { parsePriceId, toPriceId } from "./price.ts";
import { splitModel } from "./provider.ts";

test.each([
  { provider: "openai", model: "gpt", version: "2026-01-01" },
  { provider: "openrouter", model: "a/b@c:free", version: "v 1" },
])("a price's id names $provider $model $version", (key) => {
  expect(parsePriceId(toPriceId(key))).toEqual(key);
});

test.each(["", "a", "a/b", "a@b", "/b@c", "a/@c", "a/b@"])("%j is no price's id", (id) => {
  expect(parsePriceId(id)).toBeUndefined();
});

test("a model is provider and id; the id may hold slashes", () => {
  expect(splitModel("openrouter/a/b")).toEqual({ provider: "openrouter", model: "a/b" });
  for (const wrong of ["", "a", "/a", "a/"]) expect(splitModel(wrong)).toBeUndefined();
});
