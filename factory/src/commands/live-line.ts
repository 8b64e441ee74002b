import { toPrintable } from "./printable.ts";

/** One line that is overwritten as things go on, below the lines that stay. */
export interface LiveLine {
  show(line: string): void;
  print(line: string): void;
  clear(): void;
}

const DEFAULT_COLUMNS = 100;
const ERASE_LINE = "\r\u001b[K";

/** On a terminal the live line is overwritten; elsewhere it is printed when its head (phase, attempt, tool) changes. */
export function createLiveLine(stream: NodeJS.WriteStream): LiveLine {
  const { show, print, clear } = stream.isTTY ? createOverwrittenLine(stream) : createPlainLine(stream);
  return { show: (line) => show(toPrintable(line)), print: (line) => print(toPrintable(line)), clear };
}

function createOverwrittenLine(stream: NodeJS.WriteStream): LiveLine {
  let isShown = false;
  const clear = (): void => {
    if (isShown) stream.write(ERASE_LINE);
    isShown = false;
  };
  return {
    show(line) {
      stream.write(`${ERASE_LINE}${line.slice(0, (stream.columns ?? DEFAULT_COLUMNS) - 1)}`);
      isShown = true;
    },
    print(line) {
      clear();
      stream.write(`${line}\n`);
    },
    clear,
  };
}

function createPlainLine(stream: NodeJS.WriteStream): LiveLine {
  let lastHead = "";
  return {
    show(line) {
      const head = line.split(" turns,", 1)[0] ?? "";
      const what = head.slice(0, head.lastIndexOf(" · "));
      if (what !== lastHead) stream.write(`${line}\n`);
      lastHead = what;
    },
    print: (line) => void stream.write(`${line}\n`),
    clear: () => undefined,
  };
}
