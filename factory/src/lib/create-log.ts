import pino, { type Logger } from "pino";
import type { Config } from "../config.ts";

/** The operators' log: JSON lines on standard error. Never prompts, mail bodies or tokens. */
export function createLog({ logLevel }: Pick<Config, "logLevel">): Logger {
  return pino({ level: logLevel, base: { pid: process.pid } }, pino.destination({ fd: 2, sync: true }));
}
