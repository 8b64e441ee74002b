import { defineCommand } from "citty";

export default defineCommand({
  meta: { name: "trace", description: "What every turn, tool call and bill of a run was" },
  subCommands: {
    ingest: () => import("./trace/ingest.ts").then((file) => file.default),
    last: () => import("./trace/last.ts").then((file) => file.default),
    explain: () => import("./trace/explain.ts").then((file) => file.default),
    check: () => import("./trace/check.ts").then((file) => file.default),
    selftest: () => import("./trace/selftest.ts").then((file) => file.default),
  },
});
