import { defineConfig } from "vitest/config";

const MINUTE_MS = 60_000;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["contracts/src/**/*.test.ts", "factory/src/**/*.test.ts", "probes/**/*.test.ts", "scripts/**/*.test.ts"],
          // Ends what hangs; speed is measured elsewhere.
          testTimeout: MINUTE_MS,
          hookTimeout: MINUTE_MS,
        },
      },
      {
        test: {
          name: "integration",
          include: ["factory/test/integration/**/*.test.ts"],
          // Things happen when the machine comes to them: a poll waits, it does not measure.
          expect: { poll: { timeout: MINUTE_MS } },
          testTimeout: 2 * MINUTE_MS,
          hookTimeout: 2 * MINUTE_MS,
          maxWorkers: 2,
        },
      },
    ],
  },
});
