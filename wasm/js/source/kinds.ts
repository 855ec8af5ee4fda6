// Sources by what they are. Classes are known by tag or by their members, as tags.ts says.
import { badArgument, isObject, KINDS, onlyHasKeys, type Kind } from "../base/check.js";
import { isArrayBuffer, isBlob, isBytes, isResponse, isUrl, tagOf } from "../base/tags.js";
import type {
  ByteStream,
  FileRef,
  InflatedArchive,
  LoweredProgram,
  OpenFile,
  PickedFile,
  RandomAccess,
  Source,
  UrlRef,
} from "../types/index.js";

const oneOf = (accepts: string, values: readonly unknown[]): Kind => ({
  accepts,
  test: (value) => values.includes(value),
});

/** How a file is fetched, for checks. */
export const REQUEST = {
  headers: { accepts: "an object, Headers, or a list of pairs", test: isObject },
  credentials: oneOf('"omit", "same-origin" or "include"', ["omit", "same-origin", "include"]),
  cache: oneOf('true, false or "revalidate"', [true, false, "revalidate"]),
} as const;

const has = (value: unknown, name: string): boolean =>
  isObject(value) && typeof value[name] === "function";

/** A string or a URL. */
export const isPlace = (value: unknown): value is string | URL =>
  typeof value === "string" || isUrl(value);

/** True for a promise of any class. */
export const isPromise = (value: unknown): value is PromiseLike<unknown> => has(value, "then");

/** True for a web stream. */
export const isStream = (value: unknown): value is ByteStream => has(value, "getReader");

/** A stream of Node, or anything else to go over with `for await`. */
export const isAsyncIterable = (value: unknown): value is AsyncIterable<Uint8Array> =>
  isObject(value) &&
  typeof (value as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator] === "function";

/** A FileSystemFileHandle. */
export const isPickedFile = (value: unknown): value is PickedFile => has(value, "getFile");

/** A FileHandle of node:fs/promises. */
export const isOpenFile = (value: unknown): value is OpenFile =>
  isObject(value) && typeof value["fd"] === "number" && has(value, "stat") && has(value, "read");

/** A lowered program, of this engine or of another, here or behind a worker. */
export const isLowered = (value: unknown): value is LoweredProgram =>
  tagOf(value) === "ExecutorchProgramManager";

/** True for a `{ path }`. */
export const isFileRef = (value: unknown): value is FileRef =>
  isObject(value) && isPlace(value["path"]) && !has(value, "read");

/** A Request has an address too, but it may stand for what it asks for or for what it brings. */
export const isUrlRef = (value: unknown): value is UrlRef =>
  isObject(value) && isPlace(value["url"]) && !has(value, "read") && tagOf(value) !== "Request";

const URL_REF: Readonly<Record<string, Kind>> = { ...REQUEST, signal: KINDS.signal };

/** Throws where `{ url }` has members that would be ignored, or that are of no use. */
export function checkUrlRef(source: UrlRef, what: string): void {
  onlyHasKeys(what, source, ["url", ...Object.keys(URL_REF)]);
  for (const [name, kind] of Object.entries(URL_REF)) {
    const value: unknown = source[name as keyof UrlRef];
    if (value !== undefined && !kind.test(value))
      throw badArgument(`'${name}' of ${what}`, kind.accepts, value);
  }
}

/** An object with size and read(), or a FileHandle. */
export const isReadable = (value: unknown): value is RandomAccess | OpenFile => has(value, "read");

/** True for an archive with its inflated entries. */
export function isInflated(value: unknown): value is InflatedArchive {
  return isObject(value) && Array.isArray(value["entries"]) && isSource(value["archive"]);
}

interface SourceKind {
  /** The words for it in messages; empty for those that messages do not offer. */
  readonly words: string;
  readonly test: (value: unknown) => boolean;
  /** Its name, if it has to be waited for wherever it is. */
  readonly waits?: string;
}

/** Every kind of source there is. */
const SOURCE_KINDS: readonly SourceKind[] = [
  { words: "a path or an address", test: isPlace },
  { words: "a Uint8Array", test: isBytes },
  { words: "an ArrayBuffer", test: isArrayBuffer },
  { words: "a Blob", test: isBlob },
  { words: "{ path }", test: isFileRef },
  { words: "{ url }", test: isUrlRef },
  { words: "", test: isPromise, waits: "a promise" },
  { words: "a Response", test: isResponse, waits: "a Response" },
  { words: "a stream", test: isStream, waits: "a stream" },
  { words: "a file handle", test: isPickedFile, waits: "a FileSystemFileHandle" },
  { words: "", test: (value) => isAsyncIterable(value) && !isOpenFile(value), waits: "a stream" },
  { words: "a lowered program", test: isLowered },
  { words: "", test: isInflated },
  { words: "an object with size and read()", test: isReadable },
];

/** The words for all kinds of sources. */
export const SOURCES = SOURCE_KINDS.map(({ words }) => words)
  .filter((words) => words !== "")
  .join(", ")
  .replace(/, (?=an object)/, ", or ");

/** The name of a source that has to be waited for; undefined of others. */
export const waitedName = (value: unknown): string | undefined =>
  isObject(value)
    ? SOURCE_KINDS.find(({ test, waits }) => waits !== undefined && test(value))?.waits
    : undefined;

/** Tells a single source from a record of them. */
export const isSource = (value: unknown): value is Source =>
  SOURCE_KINDS.some(({ test }) => test(value));
