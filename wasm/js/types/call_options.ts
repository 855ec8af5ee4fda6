// The options that every long call takes.
import type { Phase } from "../border/steps.gen.js";
import type { HostAbortSignal } from "./host.js";

/**
 * Called now and then during long work; `total` is 0 when unknown. It may use other objects of the
 * engine; a call on the one at work fails with the code "busy".
 */
export type ProgressListener = (progress: { phase: Phase; done: number; total: number }) => void;

/** Options that every long call takes. */
export interface CallOptions {
  /**
   * Cancels the call. It fails with the code "cancelled" and the name "AbortError", and its cause is the
   * signal's reason.
   *
   * A call of the engine blocks its thread: only its own listener can abort the signal meanwhile, and
   * `AbortSignal.timeout()` fires too late. A client's call is rejected at once. It stops in the worker,
   * too, unless the page has neither cross-origin isolation nor `blob:` in `connect-src` of its policy.
   * A call that waits in the queue never starts.
   */
  signal?: HostAbortSignal;
  /** Hears how far the call is. An error that it throws fails the call. */
  onProgress?: ProgressListener;
}
