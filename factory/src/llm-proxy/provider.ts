// A provider of models: a row. Its key is in the environment, under the name the row gives.

export type ProviderDialect = "chat-completions" | "responses" | "messages";

export interface Provider {
  readonly name: string;
  readonly dialect: ProviderDialect;
  readonly baseUrl: string;
  /** Name of the environment variable that holds the key; null for a provider without one. */
  readonly keyEnv: string | null;
  readonly enabled: boolean;
}

/** The in-process rehearsal model: its address is known when it has started. */
export const REHEARSAL = "rehearsal";

/** Dialects that the proxy serves. */
export const SERVED_DIALECTS: readonly ProviderDialect[] = ["chat-completions"];

/** Ready-made rows. A provider whose dialect is not served, or that runs on this machine, waits switched off. */
export const DEFAULT_PROVIDERS: readonly Provider[] = [
  { name: REHEARSAL, dialect: "chat-completions", baseUrl: "rehearsal:in-process", keyEnv: null, enabled: true },
  { name: "anthropic", dialect: "messages", baseUrl: "https://api.anthropic.com/v1", keyEnv: "ANTHROPIC_API_KEY", enabled: false },
  { name: "openai", dialect: "chat-completions", baseUrl: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY", enabled: true },
  { name: "openrouter", dialect: "chat-completions", baseUrl: "https://openrouter.ai/api/v1", keyEnv: "OPENROUTER_API_KEY", enabled: true },
  { name: "ollama", dialect: "chat-completions", baseUrl: "http://127.0.0.1:11434/v1", keyEnv: null, enabled: false },
];
