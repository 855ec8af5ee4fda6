// The programs of managers, for calls that take a manager.
import type { Job } from "./job.js";

/** The place of a manager's program. */
export interface Place {
  readonly job: Job;
  readonly program: number;
  /** The name of the manager's interface. */
  readonly kind: string;
}

/** By manager. A function throws once the manager is disposed of. */
export const places = new WeakMap<object, () => Place>();
