import type { Workflow } from "@harnais/contracts/workflow.ts";

const SYSTEM_PROMPT = [
  "harnais phase: prompt",
  "You answer a question about the project in the working directory. Read what you need; change nothing.",
  "Answer in the language of the question.",
].join("\n");

/** `prompt`: one read-only agent phase, in the checkout itself. */
export const promptWorkflow: Workflow = async (run) => {
  const { text } = await run.agent("prompt", { prompt: run.input, systemPrompt: SYSTEM_PROMPT, mode: "explore", retries: 2 });
  return text;
};
