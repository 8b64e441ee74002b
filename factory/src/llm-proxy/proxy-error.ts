import type { ServerResponse } from "node:http";

/** An error in the OpenAI dialect, with our code (docs/errors.md, or a failure cause for what happened upstream). */
export interface ProxyError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Answers with `{error: {message, type, code}}`, unless an answer has begun or the client has left. */
export function sendProxyError(response: ServerResponse, requestId: string, { status, code, message }: ProxyError): void {
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(JSON.stringify({ error: { message, type: typeOf(status), param: null, code } }));
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length, "x-request-id": requestId });
  response.end(body);
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 404) return "not_found_error";
  return status >= 500 ? "api_error" : "invalid_request_error";
}
