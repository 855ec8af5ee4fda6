// Shared by tests of lowering: models by name, and the error that a call has to end with.
import assert from "node:assert/strict";
import { SconceError, SconcePanic } from "sconce";
import { modelPath } from "./reference.js";

export const file = (name: string): { path: string } => ({ path: modelPath(`${name}.pt2`) });

/** The error that the call throws, which leaves the engine usable. */
export function failure(call: () => unknown): SconceError {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof SconceError && !(error instanceof SconcePanic), String(error));
    return error;
  }
  throw new Error("nothing was thrown");
}
