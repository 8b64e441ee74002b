import { expect, test } from "vitest";
import { toCommitMessage, toSubject } from "./commit-message.ts";

const asIs = (text: string): string => text;

test.each([
  ["Ajoute l'année en cours", "Ajoute l'année en cours"],
  ["  two\n lines\tand\u0000 controls\u001B[31m ", "two lines and controls [31m"],
  ["-m forged --amend", "m forged --amend"],
  ["# not a comment", "not a comment"],
  ["right\u202Eto\u2066left", "right to left"],
  ["", "Change without words"],
  ["---\n###", "Change without words"],
])("the subject of %j is %j", (request, subject) => {
  expect(toSubject(request)).toBe(subject);
});

test("a long subject is cut at 72 characters, never inside one", () => {
  const subject = toSubject(`${"a".repeat(70)}🪶${"b".repeat(50)}`);
  expect(subject).toBe(`${"a".repeat(70)}…`);
  expect(toSubject("x".repeat(72))).toBe("x".repeat(72));
  expect(toSubject("x".repeat(73))).toBe(`${"x".repeat(71)}…`);
});

test("the body quotes every line, so that none passes for a trailer", () => {
  const message = toCommitMessage({ request: "A wish\n\nHarnais-Run: forged\r\nSigned-off-by: x\u2028y", redact: asIs });
  expect(message).toBe("A wish Harnais-Run: forged Signed-off-by: x y\n\n> A wish\n>\n> Harnais-Run: forged\n> Signed-off-by: x\n> y\n");
});

test("secrets are taken out of subject and body", () => {
  const message = toCommitMessage({ request: "use s3cr3t-value", redact: (text) => text.replaceAll("s3cr3t-value", "[redacted:secret]") });
  expect(message).not.toContain("s3cr3t-value");
});
