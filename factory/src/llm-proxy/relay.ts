import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import { toClientHeaders } from "./proxy-headers.ts";
import type { ResponseRecord } from "./response-record.ts";
import type { UsageFilter } from "./usage-filter.ts";

/** How the passage through the proxy ended, before the answer is read for its figures. */
export type RelayOutcome =
  /** The provider's answer ended; whatever its HTTP status. */
  | "complete"
  | "client-abort"
  /** The provider's socket died after the request went up. */
  | "upstream-cut"
  | "timeout"
  /** No connection: nothing went up. */
  | "unreachable"
  /** The proxy itself is stopped. */
  | "proxy-killed";

export interface RelayEnd {
  readonly outcome: RelayOutcome;
  readonly httpStatus: number | null;
  /** True when the request was written to the provider's socket. */
  readonly wasSent: boolean;
  readonly firstByteAtMs: number | null;
  readonly contentType: string;
  /** The system's word on what went wrong, e.g. `ECONNREFUSED`. */
  readonly errorCode: string | null;
}

export interface RelayOptions {
  readonly dispatcher: Dispatcher;
  readonly target: URL;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
  readonly requestId: string;
  readonly record: ResponseRecord;
  /** Takes the usage chunk out of a stream of a client that did not ask for it. */
  readonly filter: UsageFilter | undefined;
  /** Called once, before the client sees the end: the bill is written first. False: the answer broke off, the client must see a cut. */
  settle(end: RelayEnd): boolean;
}

export interface RunningRelay {
  /** Ends the call at both sides now. */
  abort(outcome: "client-abort" | "proxy-killed"): void;
}

// undici's codes of its own limits on headers and body.
const TIMEOUT_CODES = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/**
 * Passes a request up and its answer down: chunk by chunk as they come, with back-pressure both ways. A client that
 * leaves closes the provider's socket at once; a provider that breaks off destroys the client's.
 */
export function relay(response: ServerResponse, options: RelayOptions): RunningRelay {
  const state: RelayState = { controller: undefined, ended: false, wasSent: false, httpStatus: null, firstByteAtMs: null, contentType: "" };

  function end(outcome: RelayOutcome, errorCode: string | null = null): "again" | "whole" | "broken" {
    if (state.ended) return "again";
    state.ended = true;
    const { httpStatus, wasSent, firstByteAtMs, contentType } = state;
    return options.settle({ outcome, httpStatus, wasSent, firstByteAtMs, contentType, errorCode }) ? "whole" : "broken";
  }

  function abort(outcome: "client-abort" | "proxy-killed"): void {
    if (end(outcome) === "again") return;
    state.controller?.abort(new Error(outcome));
    response.destroy();
  }

  response.once("close", () => abort("client-abort"));
  dispatch(options, toHandler({ response, options, state, end }));
  return { abort };
}

interface RelayState {
  controller: Dispatcher.DispatchController | undefined;
  ended: boolean;
  wasSent: boolean;
  httpStatus: number | null;
  firstByteAtMs: number | null;
  contentType: string;
}

interface HandlerParts {
  readonly response: ServerResponse;
  readonly options: RelayOptions;
  readonly state: RelayState;
  end(outcome: RelayOutcome, errorCode?: string | null): "again" | "whole" | "broken";
}

function dispatch({ dispatcher, target, headers, body }: RelayOptions, handler: Dispatcher.DispatchHandler): void {
  try {
    dispatcher.dispatch({ origin: target.origin, path: target.pathname + target.search, method: "POST", headers, body }, handler);
  } catch (error) {
    handler.onResponseError?.(undefined as never, error as Error);
  }
}

function toHandler({ response, options, state, end }: HandlerParts): Dispatcher.DispatchHandler {
  const resume = (): void => state.controller?.resume();
  return {
    onRequestStart(controller) {
      // The client left while the connection was made.
      if (state.ended) return controller.abort(new Error("client-abort"));
      state.controller = controller;
      state.wasSent = true;
    },
    onResponseStart(_controller, statusCode, headers) {
      if (state.ended || statusCode < 200) return;
      state.httpStatus = statusCode;
      state.contentType = String(headers["content-type"] ?? "");
      response.writeHead(statusCode, toClientHeaders(headers, { requestId: options.requestId, keepLength: options.filter === undefined }));
      // In the same turn of the loop the first chunk takes the headers along; alone they go at its end.
      queueMicrotask(() => {
        if (!state.ended) response.flushHeaders();
      });
    },
    onResponseData(controller, chunk) {
      if (state.ended) return;
      state.firstByteAtMs ??= performance.now();
      options.record.push(chunk);
      const passed = options.filter === undefined ? chunk : options.filter.push(chunk);
      if (passed.length === 0 || response.write(passed)) return;
      controller.pause();
      response.once("drain", resume);
    },
    onResponseEnd() {
      const rest = options.filter?.flush();
      if (rest !== undefined && rest.length > 0 && !state.ended) response.write(rest);
      const ended = end("complete");
      if (ended === "whole") response.end();
      if (ended === "broken") response.destroy();
    },
    onResponseError(_controller, error) {
      const code = codeOf(error);
      const outcome = TIMEOUT_CODES.has(code) ? "timeout" : state.wasSent ? "upstream-cut" : "unreachable";
      // Where `settle` has not answered in words only a cut is honest.
      if (end(outcome, code) === "broken") response.destroy();
    },
  };
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
