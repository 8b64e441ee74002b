import { join } from "node:path";
import type { Price } from "@harnais/contracts/money.ts";
import type { AgentTask } from "./agent-adapter.ts";

// What pi 1.6 reads from its own folder; written anew for each attempt.

export interface PiFolders {
  /** PI_CODING_AGENT_DIR. */
  readonly agentDir: string;
  readonly sessionDir: string;
  readonly systemPromptFile: string;
}

export function toPiFolders(homeDir: string): PiFolders {
  const agentDir = join(homeDir, ".pi", "agent");
  return { agentDir, sessionDir: join(homeDir, "sessions"), systemPromptFile: join(agentDir, "system-prompt.md") };
}

/** Configuration files by absolute path. */
export function toPiFiles(task: AgentTask): Record<string, string> {
  const { agentDir, systemPromptFile } = toPiFolders(task.homeDir);
  return {
    [join(agentDir, "models.json")]: JSON.stringify(toModels(task), null, 2),
    [join(agentDir, "settings.json")]: JSON.stringify(toSettings(task), null, 2),
    ...(task.systemPrompt === undefined ? {} : { [systemPromptFile]: task.systemPrompt }),
  };
}

/** The provider keeps its real name: it is what the harness trace shows. */
function toModels(task: AgentTask): object {
  const { provider, model } = task.model;
  return {
    providers: {
      [provider]: {
        baseUrl: task.proxyBaseUrl,
        api: "openai-completions",
        apiKey: `$${task.proxyTokenEnv}`,
        models: [
          {
            id: model,
            cost: toPiCost(task.price),
            contextWindow: task.contextWindow,
            maxTokens: task.maxOutputTokens,
          },
        ],
      },
    },
  };
}

/** Without a price pi needs zeros: the parser and the probe turn them into "unknown". */
function toPiCost(price: Price | null): object {
  if (price === null) return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return { input: price.input, output: price.output, cacheRead: price.cacheRead, cacheWrite: price.cacheWrite5m };
}

// pi's default is 3 retries after 2, 4 and 8 s: a provider that is down would cost minutes per attempt.
const MAX_RETRIES = 1;
const RETRY_DELAY_MS = 500;
const MAX_RETRY_DELAY_MS = 5000;

function toSettings(task: AgentTask): object {
  return {
    defaultProjectTrust: "never",
    retry: {
      enabled: true,
      maxRetries: MAX_RETRIES,
      baseDelayMs: RETRY_DELAY_MS,
      maxAgentDelayMs: MAX_RETRY_DELAY_MS,
      provider: { maxRetries: 0, maxRetryDelayMs: MAX_RETRY_DELAY_MS },
    },
    httpIdleTimeoutMs: task.idleMs,
    cacheWarming: "off", // would be a model call that no turn explains
    enableInstallTelemetry: false,
    enableAnalytics: false,
  };
}

export type PriceStatus = "priced" | "unpriced" | "free";

/** What `HARNAIS_PRICE` tells the probe, which sees only pi's zeros. */
export function toPriceStatus(price: Price | null): PriceStatus {
  if (price === null) return "unpriced";
  return Object.values(price).every((usd) => usd === 0) ? "free" : "priced";
}
