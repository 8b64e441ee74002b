import { toRequestLine } from "@harnais/contracts/request-line.ts";
import type { Json } from "@harnais/contracts/json.ts";
import type { Run, Workflow } from "@harnais/contracts/workflow.ts";
import { PhaseFailure } from "../run-failures.ts";
import type { ValidationVerdict } from "../workbench.ts";

import type { WorkSteps } from "./work-steps.ts";

const PLAN_SYSTEM_PROMPT = [
  "harnais phase: plan",
  "You plan a change to the project in the working directory. Read what you need; change nothing.",
  "End with one JSON document of the given schema and nothing else.",
].join("\n");

const BUILD_SYSTEM_PROMPT = [
  "harnais phase: build",
  "You carry out a planned change in the working directory. Keep it as small as the request allows, in the style of the code around it.",
  "Do not commit, do not push, do not touch anything outside the working directory.",
].join("\n");

const PLAN_SCHEMA = {
  type: "object",
  required: ["summary", "steps", "files"],
  additionalProperties: false,
  properties: {
    summary: { type: "string", minLength: 1 },
    steps: { type: "array", items: { type: "string" }, minItems: 1 },
    files: { type: "array", items: { type: "string" } },
    risks: { type: "array", items: { type: "string" } },
  },
} as const;

const RETRIES = 2;
export const REPAIR_LABEL = "validation-repair";

/** `change`: worktree → plan → build → validate → commit; red validation → correction in the live session, billed to `validation-repair`. */
export function createChangeWorkflow(steps: WorkSteps): Workflow {
  return async (run) => {
    await run.code("worktree", (_run, signal) => steps.openWorktree(signal), { onInterrupt: "rerun" });
    const plan = await run.agent("plan", {
      prompt: toPlanPrompt(run.input),
      systemPrompt: PLAN_SYSTEM_PROMPT,
      mode: "explore",
      output: { schema: PLAN_SCHEMA },
      retries: RETRIES,
    });
    await run.agent("build", {
      prompt: toBuildPrompt(run.input, plan.value ?? null),
      systemPrompt: BUILD_SYSTEM_PROMPT,
      mode: "code",
      retries: RETRIES,
    });
    await validateUntilGreen(run, steps);
    return run.code("commit", (_run, signal) => steps.commit(signal), { onInterrupt: { check: () => steps.isCommitted() } });
  };
}

async function validateUntilGreen(run: Run, steps: WorkSteps): Promise<void> {
  for (let round = 0; ; round++) {
    let verdict: ValidationVerdict | undefined;
    await run.code(
      "validate",
      async (_run, signal) => {
        verdict = await steps.validate(signal);
        return verdict.report;
      },
      { onInterrupt: "rerun" },
    );
    if (verdict === undefined || verdict.ok) return;
    if (round >= steps.validationAttempts)
      throw new PhaseFailure(`validation is still red after ${round} corrections: ${verdict.summary}`, "validation");
    await run.correct("build", verdict.correction, { label: REPAIR_LABEL, of: steps.validationAttempts });
  }
}

function toPlanPrompt(input: string): string {
  return [
    "Plan the change that this request asks for.",
    "",
    toRequestLine(input),
    "",
    "Read the files that matter, then answer with one JSON document of this schema:",
    JSON.stringify(PLAN_SCHEMA),
  ].join("\n");
}

function toBuildPrompt(input: string, plan: Json): string {
  return [
    "Carry out this change.",
    "",
    toRequestLine(input),
    "",
    "The plan, made by a read-only look at the project:",
    JSON.stringify(plan, null, 2),
  ].join("\n");
}
