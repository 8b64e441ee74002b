import { normalizePhaseLabel } from "@harnais/contracts/phase-label.ts";

/** A path of the proxy. */
export interface ProxyPath {
  /** Normalised label of the URL; `''` when there is none or it is not a valid one. */
  readonly label: string;
  /** What follows the prefix, e.g. `/chat/completions`. */
  readonly route: string;
}

// X2: `/v1`, `/v1/phase/:label`, `/phase/:label/v1` alike.
const PREFIXES = [/^\/v1\/phase\/([^/]*)(\/.*)?$/, /^\/phase\/([^/]*)\/v1(\/.*)?$/, /^\/v1()(\/.*)?$/];

/** The proxy path in a request's URL; undefined when the URL is not the proxy's. Never throws. */
export function parseProxyPath(url: string): ProxyPath | undefined {
  const path = url.split(/[?#]/, 1)[0] ?? "";
  for (const prefix of PREFIXES) {
    const found = prefix.exec(path);
    if (found !== null) return { label: normalizePhaseLabel(decode(found[1] ?? "")), route: found[2] ?? "/" };
  }
  return undefined;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}
