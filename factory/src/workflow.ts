// `harnais/workflow`: what a project's workflow file imports, types only.
export type { Json } from "@harnais/contracts/json.ts";
export type { AgentSpec, CodeOptions, Limits, PhaseDefinition, PhaseResult, Project, Run, Workflow } from "@harnais/contracts/workflow.ts";
