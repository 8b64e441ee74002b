import { expect, test } from "vitest";
import { parseProxyPath } from "./proxy-path.ts";

test.each([
  ["/v1/chat/completions", { label: "", route: "/chat/completions" }],
  ["/v1/phase/agent/chat/completions?x=1#y", { label: "agent", route: "/chat/completions" }],
  ["/phase/qa-repair/v1/chat/completions", { label: "qa-repair", route: "/chat/completions" }],
  ["/v1/phase/%41gent/models", { label: "agent", route: "/models" }],
  ["/v1/phase/%zz/models", { label: "", route: "/models" }],
  ["/v1/phase/a%2Fb/models", { label: "", route: "/models" }],
  ["/v1", { label: "", route: "/" }],
  ["/v1/phase", { label: "", route: "/phase" }],
])("%s is the proxy's", (url, path) => {
  expect(parseProxyPath(url)).toEqual(path);
});

test.each(["/", "", "/v1x", "/api/v1/chat/completions", "/phase/agent", "/phase/agent/v2/x", "/phase/a/b/v1/x", "*"])(
  "%s is not",
  (url) => {
    expect(parseProxyPath(url)).toBeUndefined();
  },
);
