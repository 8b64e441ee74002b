import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { composeAnswer } from "../../../src/llm-proxy/rehearsal/compose-answer.ts";
import { findRule, toConversation } from "../../../src/llm-proxy/rehearsal/match-rule.ts";
import type { Scenario } from "../../../src/llm-proxy/rehearsal/scenario.ts";

// A small agent loop over a scenario, with tools that behave as pi's do (same arguments, same words in the results):
// it shows in milliseconds that a scenario's story holds together. The whole with the real pi is tested by the runs.

type Message = Record<string, unknown>;

/** One conversation; `say` continues it. */
export interface ScenarioAgent {
  /** The agent's last text, once it calls no tool any more. */
  say(user: string): string;
  readonly toolsUsed: readonly string[];
}

const MAX_TURNS = 12;
const KEPT_CHARS = 50 * 1024;

export function createScenarioAgent(scenario: Scenario, { system, cwd }: { readonly system: string; readonly cwd: string }): ScenarioAgent {
  const messages: Message[] = [{ role: "system", content: system }];
  const toolsUsed: string[] = [];
  return {
    toolsUsed,
    say(user) {
      messages.push({ role: "user", content: user });
      for (let turn = 0; turn < MAX_TURNS; turn++) {
        const match = findRule(scenario.rules, toConversation({ messages }));
        if (match === undefined) throw new Error(`no rule of ${scenario.name} answers ${JSON.stringify(messages.at(-1)).slice(0, 300)}`);
        const answer = composeAnswer(match, scenario.name, 0);
        messages.push({ role: "assistant", content: answer.text, tool_calls: answer.toolCalls });
        if (answer.toolCalls.length === 0) return answer.text;
        for (const call of answer.toolCalls) {
          toolsUsed.push(call.name);
          messages.push({
            role: "tool",
            tool_call_id: call.id,
            content: runTool(cwd, call.name, JSON.parse(call.arguments) as Record<string, unknown>),
          });
        }
      }
      throw new Error(`${scenario.name} goes round in circles: ${toolsUsed.join(" ")}`);
    },
  };
}

function runTool(cwd: string, name: string, args: Record<string, unknown>): string {
  const path = typeof args["path"] === "string" ? args["path"] : ".";
  try {
    if (name === "ls")
      return readdirSync(join(cwd, path))
        .sort()
        .map((entry) => (statSync(join(cwd, path, entry)).isDirectory() ? `${entry}/` : entry))
        .join("\n");
    if (name === "read") return readFileSync(join(cwd, path), "utf8");
    if (name === "edit") return edit(join(cwd, path), path, args["edits"] as { oldText: string; newText: string }[]);
    if (name === "bash") return bash(cwd, String(args["command"]));
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), String(args["content"]));
    return `Successfully wrote to ${path}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function edit(file: string, path: string, edits: readonly { oldText: string; newText: string }[]): string {
  let text = readFileSync(file, "utf8");
  for (const { oldText, newText } of edits) {
    const parts = text.split(oldText);
    if (parts.length === 1)
      return `Could not find the exact text in ${path}. The old text must match exactly including all whitespace and newlines.`;
    if (parts.length > 2)
      return `Found ${parts.length - 1} occurrences of the text in ${path}. The text must be unique. Please provide more context to make it unique.`;
    text = parts.join(newText);
  }
  writeFileSync(file, text);
  return `Successfully replaced ${edits.length} block(s) in ${path}.`;
}

function bash(cwd: string, command: string): string {
  const env = { PATH: process.env["PATH"] ?? "", HOME: join(cwd, "..", "home") };
  try {
    // As pi does: of a long output the end is kept.
    return execFileSync("/bin/sh", ["-c", command], { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).slice(-KEPT_CHARS);
  } catch (error) {
    const { stdout = "", status = null } = error as { stdout?: string; status?: number | null };
    return `${stdout}\n\nCommand exited with code ${status}`;
  }
}
