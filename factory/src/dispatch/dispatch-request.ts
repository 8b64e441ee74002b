import type { RequestReport } from "@harnais/contracts/api-bodies.ts";
import type { Intent, RequestStatus } from "@harnais/contracts/statuses.ts";
import { FactoryError } from "../lib/errors.ts";

/** What dispatch does with a classified request of each intent (D1); missions come with their own issue. */
const WORKFLOW_OF: Readonly<Record<Intent, string | undefined>> = {
  run: "change",
  question: "prompt",
  advice: "prompt",
  negotiation: "prompt",
  mission: undefined,
  noise: undefined,
};

export interface DispatchDeps {
  move(id: string, to: { status: RequestStatus; reason?: string | null; onlyFrom?: RequestStatus }): Promise<void>;
  createRun(run: { workflow: string; input: string; projectId: string; requestId: string }): Promise<string>;
}

/** Gives a classified request its one run, or says what it waits for. A run that cannot be made fails the request, with the reason. */
export async function dispatchRequest(request: RequestReport, deps: DispatchDeps): Promise<void> {
  const { requestId, intent } = request;
  if (intent === "noise") return deps.move(requestId, { status: "archived", reason: "noise" });
  const workflow = intent === null ? undefined : WORKFLOW_OF[intent];
  if (workflow === undefined) {
    return deps.move(requestId, { status: "needs_person", reason: `no workflow for intent ${intent ?? "unknown"} yet` });
  }
  if (request.project === null) {
    return deps.move(requestId, {
      status: "needs_person",
      reason: "no project: name one (`--project`), there is none or more than one to choose from",
    });
  }
  try {
    const runId = await deps.createRun({ workflow, input: request.text, projectId: request.project, requestId });
    // A worker may have begun already: running is not moved back.
    await deps.move(requestId, { status: "dispatched", reason: `run ${runId}`, onlyFrom: "classified" });
  } catch (error) {
    if (!(error instanceof FactoryError)) throw error;
    await deps.move(requestId, { status: "failed", reason: error.message });
    throw error;
  }
}

/** The state a request takes from what happens to its run. */
export function toRequestStatus(
  eventType: string,
  payload: Readonly<Record<string, unknown>>,
): { status: RequestStatus; reason: string | null } | undefined {
  switch (eventType) {
    case "run_start":
    case "run_resumed":
      return { status: "running", reason: null };
    case "run_waiting":
      return { status: "waiting", reason: typeof payload["question"] === "string" ? payload["question"] : null };
    case "run_finish":
      return toEndStatus(String(payload["status"]), typeof payload["reason"] === "string" ? payload["reason"] : null);
    default:
      return undefined;
  }
}

/** The state a request ends in, from its run's. */
export function toEndStatus(runStatus: string, reason: string | null): { status: RequestStatus; reason: string | null } {
  if (runStatus === "done") return { status: "actioned", reason: null };
  return { status: runStatus === "cancelled" ? "cancelled" : "failed", reason };
}
