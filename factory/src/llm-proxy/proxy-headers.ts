import type { IncomingHttpHeaders } from "node:http";

// RFC 9110 section 7.6.1: they belong to one connection.
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
// The agent's own credentials, and what we set ourselves. A compressed answer could not be read for its usage.
const NOT_UPSTREAM = new Set([
  ...HOP_BY_HOP,
  ...["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"],
  ...["host", "content-length", "content-type", "content-encoding", "accept-encoding", "expect", "forwarded", "via"],
]);
const NOT_DOWNSTREAM = new Set([...HOP_BY_HOP, "set-cookie", "alt-svc", "strict-transport-security"]);

type Headers = Record<string, string | string[]>;

/** Headers of the call that goes up: the client's but its credentials, and the provider's key. */
export function toUpstreamHeaders(client: IncomingHttpHeaders, key: string | null): Headers {
  const kept = pass(client, (name) => !NOT_UPSTREAM.has(name) && !name.startsWith("x-forwarded-") && !name.startsWith("x-harnais-"));
  return {
    ...kept,
    "content-type": "application/json",
    "accept-encoding": "identity",
    ...(key !== null && { authorization: `Bearer ${key}` }),
  };
}

/** Headers of the answer: the provider's; its own request id is kept under another name. */
export function toClientHeaders(
  upstream: IncomingHttpHeaders,
  { requestId, keepLength }: { requestId: string; keepLength: boolean },
): Headers {
  const kept = pass(upstream, (name) => !NOT_DOWNSTREAM.has(name) && (keepLength || name !== "content-length"));
  const upstreamId = kept["x-request-id"];
  return { ...kept, ...(upstreamId !== undefined && { "x-upstream-request-id": upstreamId }), "x-request-id": requestId };
}

function pass(headers: IncomingHttpHeaders, isKept: (name: string) => boolean): Headers {
  const named = new Set(
    (headers.connection ?? "")
      .toLowerCase()
      .split(",")
      .map((name) => name.trim()),
  );
  const kept: Headers = {};
  for (const [name, value] of Object.entries(headers)) if (value !== undefined && isKept(name) && !named.has(name)) kept[name] = value;
  return kept;
}
