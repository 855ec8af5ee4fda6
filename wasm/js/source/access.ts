// Sources that the engine takes without waiting, as random access.
import { badArgument } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { isArrayBuffer, isBlob, isBytes } from "../base/tags.js";
import type {
  ExecutorchProgramManager,
  InflatedArchive,
  LoweredProgram,
  RandomAccess,
  ReadySource,
  RequestOptions,
  Source,
} from "../types/index.js";
import { locate, locateUrl, pathOf, type Located } from "./address.js";
import { BlobSource, syncReader } from "./blob.js";
import { BytesSource, bytesOf } from "./bytes.js";
import { HandleSource, PathSource } from "./file.js";
import {
  checkUrlRef,
  isFileRef,
  isInflated,
  isLowered,
  isOpenFile,
  isPlace,
  isReadable,
  isUrlRef,
  SOURCES,
  waitedName,
} from "./kinds.js";
import { canReadRanges, RangesSource } from "./ranges.js";

/** A source that the engine reads, in place if it can. */
export type EngineSource = Exclude<ReadySource, ExecutorchProgramManager>;

/** The error of a source that the engine would have to wait for. */
function mustWait(what: string, name: string, example: string): SconceError {
  return new SconceError(
    "argument",
    `${what} is ${name}, which is read asynchronously, and the engine reads synchronously`,
    `Pass await fetchSource(${example}); calls of the client wait by themselves.`,
  );
}

/** A file by its path, or an address that can be read in ranges here. */
function located(what: string, at: Located, options: RequestOptions): EngineSource {
  if ("path" in at) return at;
  if (!canReadRanges() || options.cache)
    throw mustWait(what, `the address ${at.url}`, JSON.stringify(at.url));
  const { headers, credentials } = options;
  return { url: at.url, ...(headers && { headers }), ...(credentials && { credentials }) };
}

/** A lowered program as its bytes. A program behind a worker has a promise of them. */
function loweredBytes({ buffer }: LoweredProgram, what: string): Uint8Array {
  if (isBytes(buffer)) return buffer;
  Promise.resolve(buffer).catch(() => undefined);
  throw mustWait(what, "a program of a client", "program");
}

/** A source as the engine reads it; throws when that takes waiting. `what` names it for messages. */
export function readySource(source: Source, what: string): EngineSource {
  const waited = waitedName(source);
  if (waited) throw mustWait(what, waited, waited === "a Response" ? "response" : "source");
  if (isLowered(source)) return loweredBytes(source, what);
  if (isPlace(source)) return located(what, locate(source, what), {});
  if (isBytes(source) || isArrayBuffer(source) || isBlob(source)) return source;
  if (isInflated(source) || isReadable(source)) return source;
  if (isFileRef(source)) return { path: pathOf(source.path, what) };
  if (!isUrlRef(source)) throw badArgument(what, SOURCES, source);
  checkUrlRef(source, what);
  return located(what, locateUrl(source.url, what), source);
}

function blobAccess(blob: Blob, what: string): RandomAccess {
  const Reader = syncReader();
  if (Reader) return new BlobSource(blob, Reader);
  throw mustWait(what, "a Blob, which cannot be read at once here", "blob");
}

/** A ready source as random access. */
export function toRandomAccess(
  source: Exclude<EngineSource, InflatedArchive>,
  what: string,
): RandomAccess {
  if (isBytes(source)) return new BytesSource(source);
  if (isArrayBuffer(source)) return new BytesSource(bytesOf(source, what));
  if (isBlob(source)) return blobAccess(source, what);
  if (isOpenFile(source)) return new HandleSource(source);
  if (isUrlRef(source)) return new RangesSource(String(source.url), source);
  if (!("read" in source)) return new PathSource(source.path);
  // The core says which numbers are sizes.
  if (typeof source.size !== "number")
    throw badArgument(`the size of ${what}`, "a number", source.size);
  return source;
}
