import { defineCommand } from "citty";
import { loadConfig } from "../config.ts";
import { checkParts, type PartReport } from "../doctor.ts";
import { connectApi } from "./connect.ts";

export default defineCommand({
  meta: { name: "doctor", description: "Every part: found or not, version, and the command that mends it" },
  args: { json: { type: "boolean", description: "print one JSON document" } },
  async run({ args }) {
    const config = loadConfig();
    const parts = await checkParts(config, () => connectApi(config));
    process.stdout.write(args.json === true ? `${JSON.stringify({ parts })}\n` : parts.map(toLines).join(""));
    process.exitCode = parts.some((part) => part.isRequired && part.status === "missing") ? 1 : 0;
  },
});

function toLines({ name, status, version, detail, mend }: PartReport): string {
  const head = `${status.padEnd(7)}  ${name}${version === null ? "" : ` ${version}`} — ${detail}\n`;
  return mend === undefined || status === "ok" ? head : `${head}         mend: ${mend}\n`;
}
