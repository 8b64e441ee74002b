import { expect, test } from "vitest";
import { parseRef, toRefComponent, toRunBranch } from "./git-ref.ts";
import { redactUrls } from "./git.ts";
import { toSlug } from "./project.ts";

test.each(["main", "feature/x-1", "v1.2.3", "A_b", "a1b2c3d4e5"])("%s is a ref", (ref) => {
  expect(parseRef(ref, "baseBranch")).toBe(ref);
});

test.each([
  "",
  "-b",
  "--exec=x",
  "a..b",
  "a b",
  "a~1",
  "a^",
  "a:b",
  "a?",
  "a*",
  "a[",
  "a\\b",
  "a//b",
  "/a",
  "a/",
  "a.",
  "a/.b",
  ".a",
  "a.lock",
  "a.lock/b",
  "@{u}",
  "a\nb",
  "é",
  "x".repeat(201),
])("%j is refused, naming the field", (ref) => {
  expect(() => parseRef(ref, "baseBranch")).toThrow(expect.objectContaining({ code: "bad-ref", field: "baseBranch" }));
});

test("a phase's name becomes one component of a ref", () => {
  expect(toRefComponent("build the thing/../x")).toBe("build-the-thing-x");
  expect(toRefComponent("été.lock")).toBe("t-lock");
  expect(toRefComponent("🪶")).toBe("phase");
  expect(toRunBranch("a1b2c3d4")).toBe("harnais/a1b2c3d4");
});

test("credentials are taken out of URLs", () => {
  expect(redactUrls("fatal: https://user:pw@host/x.git and ssh://git@host/y")).toBe(
    "fatal: https://[redacted:url-password]@host/x.git and ssh://[redacted:url-password]@host/y",
  );
  expect(redactUrls("me@host.org, http://host/a@b")).toBe("me@host.org, http://host/a@b");
});

test.each([
  ["Été & Fils", "ete-fils"],
  ["--plume--", "plume"],
  ["日本", "project"],
  ["x".repeat(80), "x".repeat(63)],
])("the slug of %j is %j", (name, slug) => {
  expect(toSlug(name)).toBe(slug);
});
