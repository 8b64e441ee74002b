// A CLI's words may stand before the provider's: "Auto-compaction failed: Summarization failed: 500: …". The probe has the
// same rule (probes/pi/harnais-trace.ts); a test compares.
const REFUSAL = /^\s*(?:[A-Za-z -]{1,60} failed: ){0,3}([345]\d\d)\b/;

/** The HTTP status with which the provider (or the proxy) refused the call; undefined when the error says none. */
export function readHttpStatus(error: string | null): number | undefined {
  const status = REFUSAL.exec(error ?? "")?.[1];
  return status === undefined ? undefined : Number(status);
}
