import type { Json } from "@harnais/contracts/json.ts";
import type { CountedCall } from "@harnais/contracts/runner-event.ts";
import type { LlmProxy } from "../llm-proxy/proxy-port.ts";
import { callModel, type ModelAnswer } from "./call-model.ts";
import { extractJson, looksDoubled } from "./extract-json.ts";
import { type CheckValue, compileSchema } from "./json-schema.ts";
import { REPAIR_SYSTEM, toRepairPrompt } from "./repair-prompt.ts";
import type { ReadStructured, StructuredRequest, StructuredResult } from "./structured-port.ts";

/** Phase label of every repair call (X1). */
export const STRUCTURED_REPAIR_LABEL = "structured-repair";

/** Reads structured output, with one repair call through `proxy` when the text does not hold it. */
export function createReadStructured(proxy: LlmProxy): ReadStructured {
  return async (request, signal) => {
    const isDoubled = looksDoubled(request.text);
    const compiled = compileSchema(request.schema);
    if ("error" in compiled) return refuse(compiled.error, { isDoubled });
    const primary = read(request.text, compiled.check);
    if ("value" in primary)
      return {
        ok: true,
        value: primary.value,
        diagnostics: { parsedOn: "primary", repairAttempted: false, looksDoubled: isDoubled },
        calls: [],
      };
    if (request.repair === false) return refuse(primary.fault, { isDoubled });
    if (request.text.trim() === "") return refuse(primary.fault, { isDoubled, repairError: "there is no text to repair" });
    return repair(proxy, { request, fault: primary.fault, check: compiled.check, isDoubled }, signal);
  };
}

interface Repair {
  readonly request: StructuredRequest;
  readonly fault: string;
  readonly check: CheckValue;
  readonly isDoubled: boolean;
}

async function repair(proxy: LlmProxy, { request, fault, check, isDoubled }: Repair, signal: AbortSignal): Promise<StructuredResult> {
  const answer = await askForRepair(proxy, request, fault, signal);
  const base = { repairAttempted: true, looksDoubled: isDoubled, primaryError: fault };
  if (answer.type === "failed")
    return { ok: false, diagnostics: { ...base, parsedOn: "none", repairError: answer.reason }, calls: answer.calls };
  const repaired = read(answer.text, check);
  if ("value" in repaired) return { ok: true, value: repaired.value, diagnostics: { ...base, parsedOn: "repair" }, calls: answer.calls };
  return { ok: false, diagnostics: { ...base, parsedOn: "none", repairError: repaired.fault }, calls: answer.calls };
}

/** Asks with `response_format`; a provider that refuses it (4xx but 429) is asked again without. */
async function askForRepair(proxy: LlmProxy, request: StructuredRequest, fault: string, signal: AbortSignal): Promise<ModelAnswer> {
  const question = {
    ...{ runId: request.runId, phaseId: request.phaseId, attempt: request.attempt, model: request.model },
    ...{ label: STRUCTURED_REPAIR_LABEL, system: REPAIR_SYSTEM, user: toRepairPrompt(request.text, request.schema, fault) },
  };
  const responseFormat = { type: "json_schema", json_schema: { name: "answer", schema: request.schema } };
  const first = await callModel(proxy, { ...question, responseFormat }, signal);
  const isRefused = first.type === "failed" && first.status !== null && first.status >= 400 && first.status < 500 && first.status !== 429;
  // Without a billed call it was our own proxy that refused: the format is not the reason.
  if (!isRefused || first.calls.length === 0) return first;
  const second = await callModel(proxy, question, signal);
  return { ...second, calls: [...first.calls, ...second.calls] };
}

type Reading = { readonly value: Json } | { readonly fault: string };

/** The last document of the text that satisfies the schema; else what is wrong with the likeliest one. */
function read(text: string, check: CheckValue): Reading {
  let fault = "it holds no JSON";
  for (const [index, value] of extractJson(text).toReversed().entries()) {
    const found = check(value);
    if (found === undefined) return { value };
    if (index === 0) fault = found;
  }
  return { fault };
}

function refuse(primaryError: string, { isDoubled, repairError }: { isDoubled: boolean; repairError?: string }): StructuredResult {
  const calls: readonly CountedCall[] = [];
  return {
    ok: false,
    diagnostics: {
      ...{ parsedOn: "none", repairAttempted: false, looksDoubled: isDoubled, primaryError },
      ...(repairError !== undefined && { repairError }),
    },
    calls,
  };
}
