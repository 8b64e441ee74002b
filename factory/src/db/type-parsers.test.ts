import { expect, test } from "vitest";
import { parseInt8, parseTimestamp } from "./type-parsers.ts";

test.each([
  ["2026-11-29 17:17:48.957123+00", "2026-11-29T17:17:48.957Z"],
  ["2026-11-29 17:17:48.9+00", "2026-11-29T17:17:48.900Z"],
  ["2026-11-29 17:17:48+00", "2026-11-29T17:17:48.000Z"],
  ["2026-11-29 17:17:48+05:30", "2026-11-29T11:47:48.000Z"],
  ["2026-11-29 17:17:48-03", "2026-11-29T20:17:48.000Z"],
  ["0001-01-01 00:00:00+00", "0001-01-01T00:00:00.000Z"],
  ["12026-01-01 00:00:00+00", "+012026-01-01T00:00:00.000Z"],
  ["infinity", "infinity"],
  ["0044-03-15 00:00:00+00 BC", "0044-03-15 00:00:00+00 BC"],
])("the timestamp %s is %s", (text, iso) => expect(parseTimestamp(text)).toBe(iso));

test("integers are numbers as long as they are exact", () => {
  expect(parseInt8("-9007199254740991")).toBe(Number.MIN_SAFE_INTEGER);
  expect(() => parseInt8("9007199254740992")).toThrow(RangeError);
});
