import { LineCounter, parseDocument, type Document } from "yaml";
import { FactoryError, messageOf } from "../../lib/errors.ts";
import { type Scenario, ScenarioSchema } from "./scenario.ts";

const MAX_SCENARIO_CHARS = 4 * 1024 * 1024;
// Uses of one anchor, weighted by what it holds: an alias bomb is refused.
const MAX_ALIASES = 1000;

/**
 * The scenario in a YAML text.
 * @throws bad-scenario, naming file, line and field.
 */
export function parseScenario(text: string, file: string): Scenario {
  if (text.length > MAX_SCENARIO_CHARS) throw badScenario(file, 1, "", `is larger than ${MAX_SCENARIO_CHARS} characters`);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, logLevel: "silent" });
  const fault = document.errors[0];
  if (fault !== undefined) throw badScenario(file, fault.linePos?.[0].line ?? 1, "", fault.message.split("\n")[0]?.replace(/:$/, "") ?? "");
  const parsed = ScenarioSchema.safeParse(toValue(document, file));
  if (parsed.success) return { ...parsed.data, file };
  const issue = parsed.error.issues[0];
  const path = (issue?.path ?? []).map((key) => (typeof key === "symbol" ? String(key) : key));
  throw badScenario(file, lineOf(document, path, lines), path.join("."), issue?.message ?? "is invalid");
}

function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    // An alias bomb: the parser refuses to unfold it.
    throw badScenario(file, 1, "", messageOf(error));
  }
}

/** Line of the deepest node on the way to `path` that is written in the file. */
function lineOf(document: Document, path: readonly (string | number)[], lines: LineCounter): number {
  for (let depth = path.length; depth >= 0; depth--) {
    const node: unknown = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    const start = hasRange(node) ? node.range[0] : undefined;
    if (start !== undefined) return Math.max(1, lines.linePos(start).line);
  }
  return 1;
}

function hasRange(node: unknown): node is { readonly range: readonly [number, number, number] } {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range);
}

function badScenario(file: string, line: number, field: string, reason: string): FactoryError {
  return new FactoryError("bad-scenario", `${file}:${line}: ${field === "" ? "" : `${field}: `}${reason}`, { field });
}
