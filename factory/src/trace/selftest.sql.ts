import type { Mirror } from "./mirror-schema.sql.ts";

/** What the view joins to a phase: lines, and tokens of its bills. */
export function selectPhaseFigures(mirror: Mirror, phaseId: string): { readonly joined: number; readonly tokens: number } {
  const row = mirror
    .prepare(
      "SELECT COUNT(*) AS joined, SUM(json_extract(payload_json, '$.total_tokens')) AS tokens FROM harness_by_phase WHERE phase_id = ?",
    )
    .get(phaseId);
  return { joined: Number(row?.["joined"]), tokens: Number(row?.["tokens"]) };
}
