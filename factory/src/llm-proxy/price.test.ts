import { expect, test } from "vitest";
import { hasSixDecimals, parsePriceId, toPriceId } from "./price.ts";

test.each([
  { provider: "openai", model: "gpt", version: "2026-01-01" },
  { provider: "openrouter", model: "a/b@c:free", version: "v 1" },
])("a price's id names $provider $model $version", (key) => {
  expect(parsePriceId(toPriceId(key))).toEqual(key);
});

test.each(["", "a", "a/b", "a@b", "/b@c", "a/@c", "a/b@"])("%j is no price's id", (id) => {
  expect(parsePriceId(id)).toBeUndefined();
});

test.each([
  ...[0, 0.000001, 0.1, 0.123456, 3.75, 15, 999_999.123456, 1_000_000].map((usd) => [usd, true] as const),
  ...[0.0000001, 4e-7, 0.1234567, 3.00000004, 999_999.1234564].map((usd) => [usd, false] as const),
])("%d USD per million has at most six decimals: %s", (usd, expected) => {
  expect(hasSixDecimals(usd)).toBe(expected);
});
