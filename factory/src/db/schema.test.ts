import { BILL_OUTCOMES, COST_STATUSES } from "@harnais/contracts/bill.ts";
import { CONFINEMENT_LEVELS, HARNESSES, INTENTS, PHASE_STATUSES, REQUEST_STATUSES, RUN_STATUSES } from "@harnais/contracts/statuses.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const schema = readFileSync(join(import.meta.dirname, "schema.sql"), "utf8");

/** The words that a check of schema.sql allows. */
function wordsOf(constraint: string): readonly string[] {
  const line = schema.split("\n").find((candidate) => candidate.includes(`constraint ${constraint} CHECK`)) ?? "";
  return [...line.matchAll(/'([^']+)'::text/g)].map(([, word]) => word ?? "");
}

test.each([
  ["requests_status_check", REQUEST_STATUSES],
  ["requests_intent_check", INTENTS],
  ["runs_status_check", RUN_STATUSES],
  ["runs_level_check", CONFINEMENT_LEVELS],
  ["runs_agent_check", HARNESSES],
  ["phases_status_check", PHASE_STATUSES],
  ["attempts_status_check", PHASE_STATUSES],
  ["sessions_harness_check", HARNESSES],
  ["llm_calls_outcome_check", BILL_OUTCOMES],
  ["llm_calls_cost_status_check", COST_STATUSES],
])("%s allows the words of contracts", (constraint, words) => {
  expect(wordsOf(constraint)).toEqual(words);
});
