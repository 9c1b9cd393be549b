// usePoll: data that is asked for again and again while its screen is open. Slower in a hidden page, slower after
// failures, and what was there stays until something newer comes.
import { useEffect, useReducer, useRef } from "preact/hooks";
import { ApiError, needsToken } from "../api/client";

export interface Polled<T> {
  data: T | null;
  error: ApiError | null;
  /** Nothing has come yet, neither data nor an error. */
  loading: boolean;
  refresh: () => void;
}

const hiddenMs = 30_000;
const longestWaitMs = 10_000;

/** `key` names what is asked for: with another key the old data is dropped. `everyMs` 0: only once. */
export function usePoll<T>(key: string, ask: (signal: AbortSignal) => Promise<T>, everyMs: number): Polled<T> {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const state = useRef<{ key: string; data: T | null; error: ApiError | null; again: () => void }>({
    key,
    data: null,
    error: null,
    again: () => undefined,
  });
  if (state.current.key !== key) Object.assign(state.current, { key, data: null, error: null });
  const latest = useRef(ask);
  latest.current = ask;

  useEffect(() => {
    let timer = 0;
    let failures = 0;
    let stop = new AbortController();
    let gone = false;

    const wait = (): number => {
      if (document.hidden) return Math.max(hiddenMs, everyMs);
      if (failures > 0) return Math.min(longestWaitMs, Math.max(everyMs, 1000 * 2 ** (failures - 1)));
      return everyMs;
    };
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      stop.abort();
      const own = new AbortController();
      stop = own;
      try {
        const data = await latest.current(own.signal);
        if (gone || own.signal.aborted) return;
        failures = 0;
        Object.assign(state.current, { data, error: null });
      } catch (error) {
        if (gone || own.signal.aborted) return;
        failures++;
        const known = error instanceof ApiError ? error : new ApiError(0, "broken", String(error));
        state.current.error = known;
        if (known.status === 401 || needsToken.value) {
          redraw(0);
          return;
        }
      }
      redraw(0);
      if (everyMs > 0 || failures > 0) timer = window.setTimeout(() => void run(), wait());
    };
    const shown = (): void => {
      if (!document.hidden && (everyMs > 0 || failures > 0)) void run();
    };
    state.current.again = () => void run();
    document.addEventListener("visibilitychange", shown);
    void run();
    return () => {
      gone = true;
      clearTimeout(timer);
      stop.abort();
      document.removeEventListener("visibilitychange", shown);
    };
  }, [key, everyMs]);

  const { data, error } = state.current;
  return { data, error, loading: data === null && error === null, refresh: () => state.current.again() };
}
