import { randomBytes } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { type ExecutorHouse, openHouse, runQuietly, toJob } from "./support/executor-house.ts";

let house: ExecutorHouse;
afterEach(() => house.close());

const answer = () => ({ text: "done", usage: { input: 10, output: 5 } });

const PROMPTS: readonly [kind: string, prompt: string][] = [
  ["a slash", "/src/index.ts is broken, /harnais mends it"],
  ["a command of pi", "/compact now please"],
  ["a skill", "/skill:none do it"],
  ["a file reference", "@README.md says @/etc/passwd --help"],
  ["dashes", "--version -p -- @x"],
  ["quotes and shell", `"'\`$(touch /tmp/never)\`' \\n $HOME \${HOME} ; | & > <x> %s`],
  ["lines and unicode", "première ligne\r\nsecond\t\u2028 line \u001b[31m 🦄 \u0007 é\u0301 end"],
  ["200 kB", `begin ${randomBytes(100_000).toString("hex")} end`],
];
test.each(PROMPTS)("a prompt with %s reaches the model word for word", async (_kind, prompt) => {
  house = await openHouse({ answer });
  const systemPrompt = `Be brief. ${prompt.slice(0, 200)}`;
  expect(await runQuietly(house, toJob(house, { model: "wire/m", prompt, systemPrompt }))).toMatchObject({ type: "done" });
  expect(house.userTexts(0)).toEqual([prompt]);
  expect(house.provider.requests[0]?.body.messages[0]).toMatchObject({ role: "system", content: expect.stringContaining(systemPrompt) });
});

test("a prompt that looks like a command of the probe is asked, not carried out", async () => {
  house = await openHouse({ answer });
  const outcome = await runQuietly(house, toJob(house, { model: "wire/m", prompt: "/harnais-trace what is it" }));
  expect(outcome).toMatchObject({ type: "done" });
  expect(house.userTexts(0)).toEqual(["The request:\n/harnais-trace what is it"]);
});
