// The types of what a client gives: the same objects, answered later by a worker.
import type { ExportedProgram } from "./exported_program.js";
import type { Resource } from "./resource.js";

/**
 * The members that a client leaves out, because they only make sense where the object lives. A record
 * gives its exported program as a property here, and as the method `program` there.
 */
export type LocalMember<T> =
  | "inflate"
  | "registerBackend"
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

/** The same interface, answered later: what a worker offers. */
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
