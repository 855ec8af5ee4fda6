// Waiting for work that a signal may cut short.
import { cancelled } from "./errors.js";
import type { HostAbortSignal } from "../types/host.js";

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
    stop = () => {
      const error = cancelled(signal);
      reject(error);
      onAbort?.(error);
    };
  });
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([aborted, work()]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
