// The options that every long call takes.
import type { Phase } from "../border/steps.gen.js";
import type { HostAbortSignal } from "./host.js";

/**
 * Called now and then during long work. `total` is 0 if it is unknown. The listener may use other
 * objects of the engine. A call on the object at work fails with the code "busy".
 */
export type ProgressListener = (progress: { phase: Phase; done: number; total: number }) => void;

/** Options that every long call takes. */
export interface CallOptions {
  /**
   * Cancels the call. It fails with the code "cancelled" and the name "AbortError". Its cause is
   * the signal's reason.
   *
   * A call of the engine blocks its thread. Only its own listener can abort the signal during the
   * call; `AbortSignal.timeout()` fires too late. A client's call is rejected at once. The work in
   * the worker also stops, if the page is cross-origin isolated or its policy allows `blob:` in
   * `connect-src`. A call that waits in the queue never starts.
   */
  signal?: HostAbortSignal;
  /** Receives the progress of the call. An error that it throws fails the call. */
  onProgress?: ProgressListener;
}
