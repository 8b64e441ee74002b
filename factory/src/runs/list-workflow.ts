import type { AgentSpec, PhaseDefinition, Run, Workflow } from "@harnais/contracts/workflow.ts";
import { z } from "zod";
import { FactoryError } from "../lib/errors.ts";

const DefinitionSchema = z.looseObject({
  name: z.string().min(1),
  kind: z.enum(["agent", "code"], { error: (issue) => `unknown kind ${JSON.stringify(issue.input)}: a phase is "agent" or "code"` }),
  action: z.custom<PhaseDefinition["action"]>((value) => typeof value === "function", "must be a function (run, attempt)"),
  retries: z.number().int().min(0).max(20).optional(),
});

/**
 * A workflow file's default export as a function: as it is, or a list of phases run in order.
 * @throws empty-workflow, bad-workflow: before anything starts.
 */
export function toWorkflow(name: string, exported: unknown): Workflow {
  if (typeof exported === "function") return exported as Workflow;
  if (!Array.isArray(exported)) {
    throw new FactoryError("bad-workflow", `workflow ${name}: the default export must be a function (run) or a list of phases`);
  }
  if (exported.length === 0) throw new FactoryError("empty-workflow", `workflow ${name}: an empty workflow is not a workflow`);
  const phases = exported.map((phase, index) => parsePhase(name, phase, index));
  return async (run) => {
    for (const phase of phases) await runPhase(run, phase);
  };
}

function parsePhase(workflow: string, phase: unknown, index: number): PhaseDefinition {
  const parsed = DefinitionSchema.safeParse(phase);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const field = issue?.path.join(".") ?? "";
    throw new FactoryError(
      "bad-workflow",
      `workflow ${workflow}, phase ${index + 1}${field === "" ? "" : `, ${field}`}: ${issue?.message ?? "invalid"}`,
    );
  }
  const { retries, ...definition } = parsed.data;
  if (definition.kind === "code" && (retries ?? 0) > 0) {
    throw new FactoryError(
      "bad-workflow",
      `workflow ${workflow}, phase ${definition.name}: code phases are never retried, remove \`retries\``,
    );
  }
  return { ...definition, ...(retries === undefined ? {} : { retries }) };
}

async function runPhase(run: Run, phase: PhaseDefinition): Promise<void> {
  if (phase.kind === "code") {
    await run.code(phase.name, async (current) => (await phase.action(current, 1)) as never);
    return;
  }
  const spec = await phase.action(run, 1);
  if (!isAgentSpec(spec)) run.fail(`phase ${phase.name}: an agent phase's action returns its request, { prompt, mode }`);
  await run.agent(phase.name, phase.retries === undefined ? spec : { ...spec, retries: phase.retries });
}

function isAgentSpec(value: unknown): value is AgentSpec {
  return typeof value === "object" && value !== null && "prompt" in value && typeof value.prompt === "string" && "mode" in value;
}
