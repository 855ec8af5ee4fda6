// The types of sources that the engine can read without waiting.
import type { HostBlob } from "./host.js";
import type { ExecutorchProgramManager } from "./managers.js";
import type { InflatedArchive, OpenFile, RandomAccess, UrlRef } from "./source.js";

/** A source that the engine can read at once. */
export type ReadySource =
  | Uint8Array
  | ArrayBuffer
  | HostBlob
  | { readonly path: string }
  | UrlRef
  | OpenFile
  | RandomAccess
  | InflatedArchive
  | ExecutorchProgramManager;
