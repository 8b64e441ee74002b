import { expect, test } from "vitest";
import { toPrintable } from "./printable.ts";

test("escape sequences lose their power, text keeps its lines", () => {
  expect(toPrintable("a\u001b]0;title\u0007b\u009b31m\tc\r\nd\re")).toBe("a\ufffd]0;title\ufffdb\ufffd31m\tc\nd\ufffde");
  expect(toPrintable("é 漢字 🎉 ‮rtl")).toBe("é 漢字 🎉 ‮rtl");
});
