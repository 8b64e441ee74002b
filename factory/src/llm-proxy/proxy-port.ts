import type { Price } from "@harnais/contracts/money.ts";

// What the executor and `ai/` need of the proxy.

/** Claims of a proxy token: one per session and attempt. */
export interface ProxyClaims {
  readonly runId: string;
  readonly phaseId: string;
  readonly attempt: number;
  /** Null for the factory's own calls. */
  readonly sessionId: string | null;
  /** Bills are numbered per job: `<jobId>-c<seq>`. */
  readonly jobId: string;
  /** Labels the job declared; any other in a URL counts as `''`. */
  readonly labels: readonly string[];
  readonly agent: string | null;
  readonly provider: string;
  /** Model id without the provider: overwrites the model in the body. */
  readonly model: string;
  readonly expiresAtMs: number;
}

export interface ProxyTokens {
  mint(claims: ProxyClaims): string;
  /** Ends every token of the run. */
  revokeRun(runId: string): void;
}

/** A model as the executor must know it before a start. */
export interface ModelInfo {
  readonly provider: string;
  readonly model: string;
  /** Null: no price row, its calls cost null. */
  readonly price: Price | null;
  readonly priceVersion: string | null;
  /** The rehearsal model's prices are notional. */
  readonly rehearsal: boolean;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
}

/** Whose rehearsal scenarios count besides the shared ones: those of a run's project, or of a folder before there is a run. */
export type ModelScope = { readonly runId: string } | { readonly folder: string };

export interface ModelCatalog {
  /**
   * `provider/id` → what is known of it. @throws unknown-provider, unknown-model (rehearsal scenario that does not exist),
   * bad-scenario; database-unreachable.
   */
  find(model: string, scope?: ModelScope): Promise<ModelInfo>;
}

export interface LlmProxy {
  readonly tokens: ProxyTokens;
  readonly catalog: ModelCatalog;
  /** `http://127.0.0.1:<port>/v1`, once it listens. */
  baseUrl(): string;
  /** Makes the scenarios of `folder` (the project's `.harnais/rehearsal/`) the run's own, until its tokens are revoked. */
  addScenarios(runId: string, folder: string): void;
  /** Waits until every call of the run has its closing bill line; bounded by 5 s. */
  settleRun(runId: string): Promise<void>;
}
