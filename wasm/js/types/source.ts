// The types of places that files come from and go to. Classes of web pages and of Node are
// described by the members that are used. So these types need neither the DOM's declarations nor
// Node's.
import type { CallOptions } from "./call_options.js";
import type { HostAbortSignal, HostBlob, HostUrl, HostWritableStream } from "./host.js";

/**
 * Bytes that can be read at any offset. Implement it to serve a file from anywhere. `read` is
 * called synchronously, and must return exactly `length` bytes. A call on the object that is being
 * read for fails with the code "busy".
 */
export interface RandomAccess {
  readonly size: number;
  read(offset: number, length: number): Uint8Array;
  /** The bytes as a Blob part without reading them, if the platform can (a File slice). */
  slice?(offset: number, length: number): HostBlob;
  close?(): void;
}

/** A file of Node, Deno or Bun. It is read by descriptor, in the ranges that are needed. */
export interface FileRef {
  /** A path, or a URL that begins with "file:". */
  readonly path: string | HostUrl;
}

/** A .pt2 with compressed zip entries, and their inflated bytes; see `inflate`. */
export interface InflatedArchive {
  readonly archive: Source;
  readonly entries: readonly Uint8Array[];
}

/** Options for fetching a file. */
export interface RequestOptions {
  /** Headers of the request: an object, a list of pairs, or the platform's Headers. */
  readonly headers?:
    Readonly<Record<string, string>> | Iterable<readonly [name: string, value: string]>;
  /** The credentials mode: when cookies are sent. The default is that of `fetch`, "same-origin". */
  readonly credentials?: "omit" | "same-origin" | "include";
  /**
   * Keeps the file in the Cache Storage of this origin; `cachedFiles` lists it. `true` uses the
   * kept file without asking the server. A new version then needs a new address, or `forgetFiles`.
   * "revalidate" first asks the server for a change, and uses the kept file if the server cannot be
   * reached. Fails with the code "state" if there is no Cache Storage, as in Node.
   */
  readonly cache?: boolean | "revalidate";
}

/** A file at an address. The script of a page may write it relative to the page. */
export interface UrlRef extends RequestOptions {
  readonly url: string | HostUrl;
  /** Cancels the download: the call fails with the code "cancelled". */
  readonly signal?: HostAbortSignal;
}

/** A stream of bytes that is read once: a web ReadableStream. */
export interface ByteStream {
  readonly locked: boolean;
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
    cancel(reason?: unknown): Promise<void>;
    releaseLock(): void;
  };
}

/** A Response of `fetch` whose body was not read. */
export interface FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly type: string;
  readonly url: string;
  readonly bodyUsed: boolean;
  readonly headers: { get(name: string): string | null };
  readonly body: ByteStream | null;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/**
 * A FileSystemFileHandle: a file that a page's user picked, or one of the origin private file
 * system.
 */
export interface PickedFile {
  readonly kind: "file";
  getFile(): Promise<HostBlob>;
}

/** A FileHandle of node:fs/promises: an open file of Node. It stays open. */
export interface OpenFile {
  readonly fd: number;
  stat(): Promise<object>;
}

/** A lowered program, here or in a client's worker. */
export interface LoweredProgram {
  readonly methods: readonly string[];
  readonly size: number;
  readonly dataFiles: readonly { readonly name: string; readonly size: number }[];
  readonly buffer: Uint8Array | PromiseLike<Uint8Array>;
}

/**
 * A file's bytes, in any form in which a program has them.
 *
 * - A string or a URL is a path in Node, Deno and Bun, and an address in a page or a worker. There,
 *   too, it is an address when it begins with "http:" or "https:".
 * - Bytes, a Blob, `{ path }`, a FileHandle of Node, and an object with `size` and `read()` are read
 *   in place. Pages can read Blobs in workers only.
 * - `{ url }`, a Response, a stream and a FileSystemFileHandle take time to be read. Responses and
 *   streams can be read once.
 * - A lowered program stands for its .pte. `load` takes its data files with it.
 *
 * Weights are read late: by `load` when a method first runs, by lowering when the .pte is written. Do not
 * change bytes until then. A file of Node that was written to meanwhile fails with the code "io".
 *
 * The client takes all of them, and promises of them, but for objects with `read()`, which cannot
 * reach its worker. The engine's calls do not wait: pass what takes time as `await fetchSource(…)`.
 * Its `export` and `inflate` are asynchronous and wait by themselves.
 */
export type Source = AwaitedSource | PromiseLike<AwaitedSource>;

/** A source that is no promise. */
export type AwaitedSource =
  | string
  | HostUrl
  | Uint8Array
  | ArrayBuffer
  | HostBlob
  | FileRef
  | UrlRef
  | FetchResponse
  | ByteStream
  | AsyncIterable<Uint8Array>
  | PickedFile
  | OpenFile
  | RandomAccess
  | InflatedArchive
  | LoweredProgram;

/** Options of `fetchSource`. */
export interface FetchOptions extends CallOptions, RequestOptions {
  /**
   * The largest size in bytes, 2147483648 by default. A larger file fails with the code
   * "out_of_memory" before all of it has arrived. Set it on servers that take files from strangers.
   */
  readonly maxBytes?: number;
  /** Called if a file could not be kept, for example because the disk is full. */
  readonly onLog?: (severity: "note" | "warning" | "error", text: string) => void;
}

/** A file in the cache. */
export interface CachedFile {
  readonly url: string;
  readonly bytes: number;
  /** The time of storing. */
  readonly date: Date;
}

/** A file that can be replaced as a whole: a FileSystemFileHandle. */
export interface WritableFile {
  readonly kind: "file";
  createWritable(): Promise<HostWritableStream<Uint8Array<ArrayBuffer>>>;
}

/**
 * A place for a written file.
 *
 * - A function, or anything with a synchronous or asynchronous `write`, gets the pieces in order.
 * - A WritableStream is closed at the end, and aborted when the call fails.
 * - A path (a string, a "file:" URL, `{ path }`) of Node, Deno or Bun, or a FileSystemFileHandle of a
 *   page, is replaced once the file is complete. A call that fails leaves what was there.
 */
export type Sink =
  | ((chunk: Uint8Array<ArrayBuffer>) => void | Promise<void>)
  | { write(chunk: Uint8Array<ArrayBuffer>): unknown }
  | HostWritableStream<Uint8Array<ArrayBuffer>>
  | string
  | HostUrl
  | FileRef
  | WritableFile;
