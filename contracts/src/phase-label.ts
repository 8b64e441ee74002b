const MAX_LABEL_LENGTH = 32;

/** The slice of money spent under no known label: a group of its own in every report. */
export const UNATTRIBUTED = "";

/**
 * What a model call is billed to, in its one spelling. Rejects, never escapes: anything that is not
 * 1 to 32 of `a-z 0-9 -` (after trimming and lower-casing) is `''`, the unattributed slice.
 */
export function normalizePhaseLabel(label: unknown): string {
  if (typeof label !== "string") return UNATTRIBUTED;
  const normalized = label.trim().toLowerCase();
  if (normalized.length > MAX_LABEL_LENGTH) return UNATTRIBUTED;
  return /^[a-z0-9-]+$/.test(normalized) ? normalized : UNATTRIBUTED;
}

/**
 * The base URL under which calls are billed to `label`. Unchanged unless the backend declared that it
 * serves phase paths (`supported === true`) and the label is a valid one.
 */
export function phasedBaseUrl(baseUrl: string, label: unknown, supported: unknown): string {
  const normalized = normalizePhaseLabel(label);
  if (supported !== true || normalized === UNATTRIBUTED) return baseUrl;
  return `${baseUrl.replace(/\/+$/, "")}/phase/${normalized}`;
}
