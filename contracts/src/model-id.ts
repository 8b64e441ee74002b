/** A model as people write it, `provider/id`, in its two parts; the id may hold slashes itself. */
export interface ModelId {
  readonly provider: string;
  readonly model: string;
}

/** Undefined when a part is missing. */
export function parseModelId(text: string): ModelId | undefined {
  const slash = text.indexOf("/");
  if (slash <= 0 || slash === text.length - 1) return undefined;
  return { provider: text.slice(0, slash), model: text.slice(slash + 1) };
}

export const toModelId = ({ provider, model }: ModelId): string => `${provider}/${model}`;
