// The types of a client's objects. They are the same as the engine's, but a worker answers later.
import type { ExportedProgram } from "./exported_program.js";
import type { Resource } from "./resource.js";

/**
 * The members that a client leaves out, because they only work on the thread of the object. A
 * record of the engine has its exported program as a property. A client uses the method `program`
 * instead.
 */
export type LocalMember<T> =
  | "inflate"
  | "read"
  | "registerBackend"
  | "registerOperator"
  | "registerPass"
  | "registerPartitioner"
  | "registerMemoryPlanner"
  | "etrecord"
  | "writeSync"
  | "registerStage"
  | "getRegisteredStage"
  | "getAllRegisteredStages"
  | "getStageArtifacts"
  | "edgeDialectProgram"
  | "graphMap"
  | (T extends { readonly graphMap: unknown } ? "exportedProgram" : never);

/** The same interface with promises: the interface that a worker offers. */
export type Remote<T> = {
  [K in Exclude<keyof T, LocalMember<T> | typeof Symbol.dispose>]: T[K] extends (
    ...args: infer A
  ) => infer R
    ? (...args: A) => Promise<RemoteResult<Awaited<R>>>
    : T[K] extends Uint8Array
      ? Promise<Uint8Array<ArrayBuffer>>
      : T[K];
};

type RemoteResult<R> = R extends Resource ? Remote<R> : R extends ExportedProgram ? Remote<R> : R;
