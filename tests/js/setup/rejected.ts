// The error that an asynchronous call has to end with.
import assert from "node:assert/strict";
import { SconceError, SconcePanic } from "sconce";

/** The error that the call rejects with, which leaves the engine usable. */
export async function rejected(call: () => Promise<unknown>): Promise<SconceError> {
  let error: unknown;
  try {
    await call();
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error instanceof SconceError && !(error instanceof SconcePanic), String(error));
  return error;
}
