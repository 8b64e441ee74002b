import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toChildEnv } from "../../src/launcher/agent-environment.ts";
import { CHILD_ENV, fakeAgent, launchForTest, launchToEnd } from "./support/launcher.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "harnais-launch-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

for (const terminal of [true, false]) {
  describe(terminal ? "on a terminal" : "on pipes", () => {
    test("200 000 JSON lines arrive whole, in order, before the end is declared", async () => {
      const { end, lines } = await launchToEnd(fakeAgent("lines", 200_000), { terminal });
      expect(end).toMatchObject({ cause: "exit", exitCode: 7, signal: null });
      expect(lines).toHaveLength(200_000);
      const wrong = lines.findIndex((line, n) => line !== JSON.stringify({ n, text: "é\u2028😀 ".repeat(n % 13) }));
      expect(wrong).toBe(-1);
    });

    test("characters cut by chunk borders are put together again", async () => {
      const { lines } = await launchToEnd(fakeAgent("bytes"), { terminal });
      expect(lines).toEqual(['{"text":"é😀\u2028漢"}']);
    });

    test("a line of 5 MB is one line", async () => {
      const { lines } = await launchToEnd(fakeAgent("long", 5_000_000), { terminal });
      expect(lines.map((line) => line.length)).toEqual([5_000_000, 5]);
    });

    test("escape sequences and carriage returns are taken out, a last line without end is kept", async () => {
      const { lines } = await launchToEnd(fakeAgent("escapes"), { terminal });
      expect(lines).toEqual(['{"ok":true}', "progress 1progress 2", "no line end"]);
    });

    test("nothing of the last output is lost when the reader is slower than the writer", async () => {
      const lines: string[] = [];
      const onLine = (line: string): void => {
        lines.push(line);
        // A stalled event loop, as a busy machine makes it; the process is long gone when the last lines are read.
        if (lines.length > 5500 && lines.length % 20 === 0) for (const until = performance.now() + 150; performance.now() < until;);
      };
      await launchForTest(fakeAgent("lines", 6000), { terminal, onLine }).running.done;
      expect(lines).toHaveLength(6000);
    });

    test("the exit code and the signal are the process's own", async () => {
      const [left, killed] = await Promise.all([
        launchToEnd(fakeAgent("exit", 3), { terminal }),
        launchToEnd(fakeAgent("signal", "SIGUSR2"), { terminal }),
      ]);
      expect(left.end).toMatchObject({ cause: "exit", exitCode: 3, signal: null, swept: 0 });
      expect(killed.end).toMatchObject({ cause: "exit", exitCode: null, signal: "SIGUSR2" });
    });

    test("standard input is the file, longer than a terminal's line; without one it is empty", async () => {
      const stdinFile = join(folder, "prompt with 'quotes' $(and) more");
      const prompt = `${"a".repeat(10_000)}\n"$(touch ${folder}/never)" é\n`;
      writeFileSync(stdinFile, prompt);
      const given = await launchToEnd(fakeAgent("stdin"), { terminal, stdinFile });
      const none = await launchToEnd(fakeAgent("stdin"), { terminal });
      expect(JSON.parse(given.lines[0] ?? "")).toEqual({ stdin: prompt, isTerminal: terminal });
      expect(JSON.parse(none.lines[0] ?? "")).toEqual({ stdin: "", isTerminal: terminal });
      expect(readdirSync(folder)).not.toContain("never");
    });

    test("standard error is merged, or goes to its own file, which is the user's only", async () => {
      const stderrFile = join(folder, `stderr-${terminal}.log`);
      const merged = await launchToEnd(fakeAgent("stderr"), { terminal });
      const apart = await launchToEnd(fakeAgent("stderr"), { terminal, stderrFile });
      expect(merged.lines.toSorted()).toEqual(["a line", "an error"]);
      expect(apart.lines).toEqual(["a line"]);
      expect(readFileSync(stderrFile, "utf8")).toBe("an error\n");
      expect(statSync(stderrFile).mode & 0o777).toBe(0o600);
    });

    test("words of the command are never read by a shell", async () => {
      const { lines } = await launchToEnd({ file: "printf", args: ["%s|", "$HOME", "a b", "`id`", "'", "-n", "é"] }, { terminal });
      expect(lines).toEqual(["$HOME|a b|`id`|'|-n|é|"]);
    });

    test("the child sees the given environment and nothing of ours", async () => {
      process.env["HARNAIS_TEST_SECRET"] = "leak-me-not";
      try {
        const env = toChildEnv(CHILD_ENV, { ONE: "1" });
        const { lines } = await launchToEnd(fakeAgent("environment"), { terminal, env });
        const seen = JSON.parse(lines[0] ?? "") as Record<string, string>;
        // A terminal tells its type and its folder.
        const { PWD: _pwd, TERM: _term, ...rest } = seen;
        expect(rest).toEqual({ ...CHILD_ENV, ONE: "1" });
      } finally {
        delete process.env["HARNAIS_TEST_SECRET"];
      }
    });

    test("a missing program, folder or input file is an error before anything starts", () => {
      const launchIt = (file: string, options: object = {}) => launchForTest({ file, args: [] }, { terminal, ...options });
      expect(() => launchIt("no-such-program")).toThrow(expect.objectContaining({ code: "part-missing" }));
      expect(() => launchIt("/no/such/program")).toThrow(expect.objectContaining({ code: "part-missing" }));
      expect(() => launchIt("true", { env: {} })).toThrow(expect.objectContaining({ code: "part-missing" }));
      expect(() => launchIt("true", { cwd: join(folder, "gone") })).toThrow(expect.objectContaining({ code: "not-found" }));
      expect(() => launchIt("true", { stdinFile: join(folder, "gone") })).toThrow(expect.objectContaining({ code: "storage" }));
      expect(() => launchIt("true", { confinement: "sandbox" })).toThrow(expect.objectContaining({ code: "part-missing" }));
      expect(() => launchForTest({ file: "true", args: ["a\0b"] }, { terminal })).toThrow(expect.objectContaining({ code: "bad-input" }));
    });

    test("a hundred launches leave no file descriptor and no listener behind", async () => {
      const signal = new AbortController().signal;
      const launchMany = (count: number) =>
        Promise.all(Array.from({ length: count }, () => launchForTest({ file: "true", args: [] }, { terminal }, signal).running.done));
      await launchMany(5);
      const before = openDescriptors();
      for (let round = 0; round < 10; round++) await launchMany(10);
      await expect.poll(openDescriptors).toBe(before);
      expect(process.listenerCount("exit")).toBeLessThan(10);
    });
  });
}
