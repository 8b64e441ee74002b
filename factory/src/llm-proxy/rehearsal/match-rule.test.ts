import { expect, test } from "vitest";
import { findRule, toConversation } from "./match-rule.ts";
import type { Rule } from "./scenario.ts";
import { substituteJson, substituteText } from "./substitute.ts";

const rule = (when: Rule["when"]): Rule => ({ when, then: { text: "" } });

test("a conversation is read from its messages, whatever their shape", () => {
  const parts = [{ type: "text", text: "a" }, { type: "image_url" }, null, { type: "text", text: "b" }];
  const messages = [
    { role: "system", content: "s" },
    null,
    3,
    { role: "developer", content: parts },
    { role: "user", content: parts },
    { role: "assistant" },
  ];
  expect(toConversation({ messages })).toEqual({ system: "s\nab", user: "ab", toolResult: undefined, turn: 2 });
  expect(toConversation({ messages: [...messages, { role: "tool", content: parts }] }).toolResult).toBe("ab");
  for (const odd of [{}, { messages: null }, { messages: "x" }, { messages: { length: 9 } }])
    expect(toConversation(odd)).toEqual({ system: "", user: "", toolResult: undefined, turn: 1 });
});

test("every given condition must hold; the groups of all are kept", () => {
  const conversation = { system: "sys", user: "do it", toolResult: "exit 1", turn: 3 };
  expect(findRule([rule({ user: /do/, turn: 2 }), rule({ user: /it/, toolResult: /exit 0/ })], conversation)).toBeUndefined();
  const found = findRule(
    [rule({ user: /no/ }), rule({ system: /(?<who>s.s)/, user: /(?<what>do)(?<never>x)?/, toolResult: /exit (?<code>\d)/, turn: 3 })],
    conversation,
  );
  expect(found?.number).toBe(2);
  expect({ ...found?.groups }).toEqual({ who: "sys", what: "do", never: "", code: "1" });
});

test("only captured names are replaced, once, and nothing in them is read again", () => {
  const groups = { a: "${b} $& $1 \\", b: "B" };
  expect(substituteText("${a}|${b}|${c}|${toString}|$a", groups)).toBe("${b} $& $1 \\|B|${c}|${toString}|$a");
  const value = JSON.parse('{"${b}": ["${b}", 1, null, {"__proto__": "${b}"}]}') as Parameters<typeof substituteJson>[0];
  expect(JSON.stringify(substituteJson(value, groups))).toBe('{"${b}":["B",1,null,{"__proto__":"B"}]}');
});
