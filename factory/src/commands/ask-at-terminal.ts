import { createInterface } from "node:readline";

export interface TerminalAnswer {
  /** A line that is not empty; nothing more is asked then. */
  onAnswer(text: string): void;
  /** Ctrl-C: while a line is read the terminal sends a character, no signal. */
  onInterrupt(): void;
  /** Ctrl-D, or the terminal is gone. */
  onEnd(): void;
}

/** Reads one line at the terminal. The result ends it, whatever has been typed; it may be called at any time. */
export function askAtTerminal({ onAnswer, onInterrupt, onEnd }: TerminalAnswer): () => void {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt: "> " });
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    terminal.close();
    process.stderr.write("\n");
  };
  terminal.on("SIGINT", onInterrupt);
  terminal.on("close", () => {
    if (!isOpen) return;
    isOpen = false;
    onEnd();
  });
  terminal.on("line", (line) => {
    if (line.trim() === "") {
      terminal.prompt();
      return;
    }
    isOpen = false;
    terminal.close();
    onAnswer(line);
  });
  terminal.prompt();
  return close;
}
