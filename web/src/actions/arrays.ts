// The page's end of the worker for large arrays.
import type { Arrays } from "../arrays.worker.js";
import { workerEnd } from "./worker.js";

/** Calls one of the worker's functions. */
export const { ask } = workerEnd<Arrays>(
  () => new Worker(new URL("../arrays.worker.ts", import.meta.url), { type: "module" }),
  "inputs and results",
);
