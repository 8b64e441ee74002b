const BASE_DELAY_MS = 500;
const MAX_DELAY_MS = 60_000;

/**
 * How long to wait before try `next` (2, 3, …): what the provider's Retry-After asks (seconds or a date, RFC 9110
 * section 10.2.3), else growing from half a second. Undefined: it asks for more than a minute, give up.
 */
export function toRetryDelayMs(next: number, retryAfter: string | null, nowMs: number): number | undefined {
  const asked = retryAfter === null ? undefined : parseRetryAfter(retryAfter, nowMs);
  const delayMs = asked ?? BASE_DELAY_MS * 2 ** (next - 2);
  return delayMs > MAX_DELAY_MS ? undefined : delayMs;
}

function parseRetryAfter(text: string, nowMs: number): number | undefined {
  if (/^\s*\d{1,9}\s*$/.test(text)) return Number(text) * 1000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
