import type { Json } from "@harnais/contracts/json.ts";
import pino, { type Logger } from "pino";
import type { Config } from "../config.ts";
import type { Redactor } from "./redaction.ts";

/** The operators' log: JSON lines on standard error, each through the redactor. Never prompts, mail bodies or tokens. */
export function createLog({ logLevel }: Pick<Config, "logLevel">, redactor?: Redactor): Logger {
  const options = { level: logLevel, base: { pid: process.pid } };
  const destination = pino.destination({ fd: 2, sync: true });
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
