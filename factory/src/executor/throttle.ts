export interface Throttle {
  /** Asks for a call: at once when the last was long enough ago, else at the end of the interval. */
  call(): void;
  /** Makes the call that is waiting now. */
  flush(): void;
}

/** At most one call per `intervalMs`; the last one asked for is always made. */
export function createThrottle(action: () => void, intervalMs: number): Throttle {
  let timer: NodeJS.Timeout | undefined;
  let isWaiting = false;
  const rest = (): void => {
    timer = setTimeout(() => {
      timer = undefined;
      if (!isWaiting) return;
      isWaiting = false;
      action();
      rest();
    }, intervalMs);
    timer.unref();
  };
  return {
    call() {
      if (timer !== undefined) {
        isWaiting = true;
        return;
      }
      action();
      rest();
    },
    flush() {
      clearTimeout(timer);
      timer = undefined;
      if (!isWaiting) return;
      isWaiting = false;
      action();
    },
  };
}
