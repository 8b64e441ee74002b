import type { Json } from "@harnais/contracts/json.ts";
import pino, { type Logger } from "pino";
import type { Config } from "../config.ts";
import type { Redactor } from "./redaction.ts";

const FILE_MODE = 0o600;

/**
 * The operators' log: JSON lines, each through the redactor. Never prompts, mail bodies or tokens. On standard error, or in
 * `file`: a command's standard error is for people.
 */
export function createLog({ logLevel }: Pick<Config, "logLevel">, redactor?: Redactor, file?: string): Logger {
  const options = { level: logLevel, base: { pid: process.pid } };
  const destination = pino.destination(
    file === undefined ? { fd: 2, sync: true } : { dest: file, append: true, sync: true, mode: FILE_MODE },
  );
  if (redactor === undefined) return pino(options, destination);
  return pino({ ...options, hooks: { streamWrite: (line) => redactLine(line, redactor) } }, destination);
}

/** As a value and not as text: a pattern must not eat the line's own quotes. */
export function redactLine(line: string, redactor: Redactor): string {
  try {
    return `${JSON.stringify(redactor.redactJson(JSON.parse(line) as Json))}\n`;
  } catch {
    return `${redactor.redact(line.trimEnd())}\n`;
  }
}
