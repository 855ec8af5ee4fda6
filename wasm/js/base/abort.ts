// Waiting for work that a signal may cut short.
import { cancelled } from "./errors.js";
import type { HostAbortSignal } from "../types/host.js";

/** Calls `act` with the first of the signals that is aborted, until what is returned is called. */
export function whenAborted(
  signals: readonly HostAbortSignal[],
  act: (signal: HostAbortSignal) => void,
): () => void {
  const listen = (): void => {
    stop();
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted) act(aborted);
  };
  const stop = (): void => {
    for (const signal of signals) signal.removeEventListener("abort", listen);
  };
  for (const signal of signals) signal.addEventListener("abort", listen);
  return stop;
}

/**
 * Gives the result of `work`, or fails with the code "cancelled" once the signal is aborted. The work
 * is not begun where the signal is aborted already, and nobody waits for it any longer afterwards:
 * `onAbort` hears of that first, with the error.
 */
export async function orAborted<T>(
  work: () => PromiseLike<T> | T,
  signal: HostAbortSignal | undefined,
  onAbort?: (error: Error) => void,
): Promise<T> {
  if (!signal) return work();
  if (signal.aborted) throw cancelled(signal);
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = whenAborted([signal], () => {
      const error = cancelled(signal);
      reject(error);
      onAbort?.(error);
    });
  });
  try {
    return await Promise.race([aborted, work()]);
  } finally {
    stop();
  }
}
