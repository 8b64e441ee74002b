import { defineCommand } from "citty";
import { runSelftest } from "../../trace/selftest.ts";

export default defineCommand({
  meta: { name: "selftest", description: "Raw lines → mirror → join → replay, on a temporary database" },
  args: { json: { type: "boolean", description: "print one JSON document" } },
  async run({ args }) {
    const result = await runSelftest();
    const text = `trace ${result.ok ? "OK" : "KO"} — ${result.mirrored} lines mirrored, ${result.replayed} on replay, ${result.joined} joined to the phase, ${result.tokens} tokens`;
    process.stdout.write(args.json === true ? `${JSON.stringify(result)}\n` : `${text}\n`);
    if (!result.ok) process.exitCode = 1;
  },
});
