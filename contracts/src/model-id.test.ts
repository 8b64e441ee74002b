import { expect, test } from "vitest";
import { parseModelId, toModelId } from "./model-id.ts";

test("a model is provider and id; the id may hold slashes", () => {
  expect(parseModelId("openrouter/a/b")).toEqual({ provider: "openrouter", model: "a/b" });
  expect(toModelId({ provider: "openrouter", model: "a/b" })).toBe("openrouter/a/b");
  for (const wrong of ["", "a", "/a", "a/"]) expect(parseModelId(wrong)).toBeUndefined();
});
