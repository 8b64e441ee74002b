/** Where a job is (X1): whoever has to tell it asks the same marker. */
export interface LabelMarker {
  /** Marks the label that the job is in from now on. */
  onPhase(label: string): void;
  /** The label that was marked last. */
  currentPhase(): string;
  /** Wall-clock per label so far, in milliseconds; a label that came twice is summed. */
  durations(): Readonly<Record<string, number>>;
}

/** `now` gives milliseconds of a clock that only goes forward. */
export function createLabelMarker(first: string, now: () => number = () => performance.now()): LabelMarker {
  const spent = new Map<string, number>();
  let current = first;
  let since = now();
  const settle = (): void => {
    const at = now();
    spent.set(current, (spent.get(current) ?? 0) + (at - since));
    since = at;
  };
  return {
    onPhase(label) {
      settle();
      current = label;
    },
    currentPhase: () => current,
    durations() {
      settle();
      return Object.fromEntries([...spent].map(([label, ms]) => [label, Math.round(ms)]));
    },
  };
}
