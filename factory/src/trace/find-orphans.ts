import type { Finding } from "./judge-call.ts";
import { selectOrphanBills } from "./mirror-reads.sql.ts";
import type { Mirror } from "./mirror-schema.sql.ts";

/** Bills that no run claims: its journal is lost, or somebody called the proxy for a run that never was. */
export function findOrphans(mirror: Mirror): Finding[] {
  return selectOrphanBills(mirror).map(({ runId, calls, costUsd, firstCall }) => ({
    isExplained: false,
    call: firstCall,
    cause: `${calls} ${calls === 1 ? "bill" : "bills"} of ${runId === null ? "no run" : `run ${runId}, which no journal knows`}`,
    proxyUsd: costUsd,
    amountUsd: costUsd,
  }));
}
