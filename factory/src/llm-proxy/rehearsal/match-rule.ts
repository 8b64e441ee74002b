import { isRecord } from "@harnais/contracts/json.ts";
import type { Rule } from "./scenario.ts";

/** What a rule can see of a request: all of it from the messages, so that a killed and resumed call repeats. */
export interface Conversation {
  readonly system: string;
  /** Text of the last user message; empty when there is none. */
  readonly user: string;
  /** Text of the last message when it is a tool's result. */
  readonly toolResult: string | undefined;
  /** Assistant messages + 1. */
  readonly turn: number;
}

export interface Match {
  readonly rule: Rule;
  /** Position in the file, from 1. */
  readonly number: number;
  readonly groups: Readonly<Record<string, string>>;
}

/** Reads the body of a chat-completions request; tolerant of any shape. */
export function toConversation(body: Readonly<Record<string, unknown>>): Conversation {
  const messages = Array.isArray(body["messages"]) ? body["messages"].filter(isRecord) : [];
  const last = messages.at(-1);
  return {
    system: messages
      .filter((message) => message["role"] === "system" || message["role"] === "developer")
      .map(textOf)
      .join("\n"),
    user: textOf(messages.findLast((message) => message["role"] === "user") ?? {}),
    toolResult: last?.["role"] === "tool" ? textOf(last) : undefined,
    turn: messages.filter((message) => message["role"] === "assistant").length + 1,
  };
}

/** The first rule whose every given condition holds, with what its named groups captured. */
export function findRule(rules: readonly Rule[], conversation: Conversation): Match | undefined {
  for (const [index, rule] of rules.entries()) {
    const groups = matchWhen(rule.when, conversation);
    if (groups !== undefined) return { rule, number: index + 1, groups };
  }
  return undefined;
}

function matchWhen(when: Rule["when"], conversation: Conversation): Record<string, string> | undefined {
  if (when.turn !== undefined && when.turn !== conversation.turn) return undefined;
  const groups: Record<string, string> = Object.create(null);
  const conditions = [
    [when.system, conversation.system],
    [when.user, conversation.user],
    [when.toolResult, conversation.toolResult],
  ] as const;
  for (const [pattern, text] of conditions) {
    if (pattern === undefined) continue;
    const found = text === undefined ? null : pattern.exec(text);
    if (found === null) return undefined;
    for (const [name, value] of Object.entries(found.groups ?? {})) groups[name] = value ?? "";
  }
  return groups;
}

function textOf(message: Readonly<Record<string, unknown>>): string {
  const content = message["content"];
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isRecord(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}
