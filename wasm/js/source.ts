// Files as random access. Nothing here reads a file whole: the compiler asks for the ranges it
// needs, and weights usually stay where they are until the .pte is written.
import { badArgument, isObject, mustBe } from "./check.js";
import { cancelled, messageOf, SconceError } from "./errors.js";
import { hostModule } from "./host.js";
import type { HostAbortSignal, HostBlob, HostUrl } from "./host_types.js";
import { isArrayBuffer, isBlob, isBytes } from "./tags.js";
import type { InflatedArchive, RandomAccess, Source, UrlRef } from "./types.js";

export class BytesSource implements RandomAccess {
  constructor(private readonly bytes: Uint8Array) {}
  get size(): number {
    return this.bytes.length;
  }
  read(offset: number, length: number): Uint8Array {
    return this.bytes.subarray(offset, offset + length);
  }
  /** Reads as many bytes as `target` has. */
  readInto(offset: number, target: Uint8Array): void {
    target.set(readExactly(this, offset, target.length));
  }
  slice(offset: number, length: number): HostBlob {
    return new Blob([this.bytes.slice(offset, offset + length)]);
  }
}

interface SyncReader {
  readAsArrayBuffer(blob: HostBlob): ArrayBuffer;
}
type SyncReaderConstructor = new () => SyncReader;

export function syncReader(): SyncReaderConstructor | undefined {
  return (globalThis as { FileReaderSync?: SyncReaderConstructor }).FileReaderSync;
}

const WINDOW_BYTES = 1 << 18;
const WINDOWS_MAX = 32;

/**
 * A source of which every read is a round trip. Reads come by the hundreds, and weights are not
 * asked for in the order of the file: the latest windows are kept, 8 MB of them at most.
 */
export abstract class WindowedSource implements RandomAccess {
  abstract readonly size: number;
  /** By number, the one used last at the end. */
  private readonly windows = new Map<number, Uint8Array>();

  protected abstract fetch(offset: number, end: number): Uint8Array;

  private window(index: number): Uint8Array {
    const begin = index * WINDOW_BYTES;
    const end = Math.min(begin + WINDOW_BYTES, this.size);
    const bytes = this.windows.get(index) ?? this.fetch(begin, end);
    this.windows.delete(index);
    this.windows.set(index, bytes);
    for (const oldest of this.windows.keys()) {
      if (this.windows.size <= WINDOWS_MAX) break;
      this.windows.delete(oldest);
    }
    return bytes;
  }

  read(offset: number, length: number): Uint8Array {
    if (length === 0) return new Uint8Array(0);
    if (length >= WINDOW_BYTES) return this.fetch(offset, offset + length);
    const index = Math.floor(offset / WINDOW_BYTES);
    const begin = offset - index * WINDOW_BYTES;
    const head = this.window(index).subarray(begin, begin + length);
    if (head.length === length) return head;
    const tail = this.window(index + 1).subarray(0, length - head.length);
    const bytes = new Uint8Array(head.length + tail.length);
    bytes.set(head);
    bytes.set(tail, head.length);
    return bytes;
  }
}

/** Reads slices of a File or Blob synchronously, which browsers allow in workers only. */
class BlobSource extends WindowedSource {
  private readonly reader: SyncReader;
  constructor(
    private readonly blob: Blob,
    Reader: SyncReaderConstructor,
  ) {
    super();
    this.reader = new Reader();
  }
  get size(): number {
    return this.blob.size;
  }
  protected fetch(offset: number, end: number): Uint8Array {
    return new Uint8Array(this.reader.readAsArrayBuffer(this.blob.slice(offset, end)));
  }
  slice(offset: number, length: number): Blob {
    return this.blob.slice(offset, offset + length);
  }
}

/** A URL read in ranges, synchronously; for workers. */
class UrlSource extends WindowedSource {
  readonly size: number;

  constructor(private readonly url: string) {
    super();
    const head = this.request("HEAD");
    this.size = Number(head.getResponseHeader("content-length"));
    if (head.status !== 200 || !(this.size > 0)) throw this.refused(head.status);
  }

  private request(method: string, range?: string): XMLHttpRequest {
    if (typeof XMLHttpRequest === "undefined") {
      throw new SconceError(
        "io",
        `${this.url} cannot be read in ranges here`,
        "Use openUrl, or fetch the file and pass its bytes.",
      );
    }
    const request = new XMLHttpRequest();
    try {
      request.open(method, this.url, false);
      request.responseType = "arraybuffer";
      if (range) request.setRequestHeader("Range", range);
      request.send();
    } catch (error) {
      throw unreachable(this.url, error);
    }
    return request;
  }

  private refused(status: number): SconceError {
    return new SconceError(
      "io",
      `${this.url} answered ${status} to a range request`,
      "Serve the file with support for range requests, or download it first.",
    );
  }

  protected fetch(offset: number, end: number): Uint8Array {
    const request = this.request("GET", `bytes=${offset}-${end - 1}`);
    if (request.status !== 206) throw this.refused(request.status);
    return new Uint8Array(request.response as ArrayBuffer);
  }
}

type FileSystem = typeof import("node:fs");

function fileSystem(path: string): FileSystem {
  const fs = hostModule<FileSystem>("node:fs");
  if (fs) return fs;
  throw new SconceError(
    "io",
    `${path} cannot be opened: there is no file system here`,
    "Pass the file's bytes or a Blob.",
  );
}

/** A file read by descriptor. */
export class FileSource implements RandomAccess {
  readonly size: number;
  private readonly fs: FileSystem;
  private readonly descriptor: number;

  constructor(private readonly path: string) {
    this.fs = fileSystem(path);
    try {
      // Looked at first: opening a FIFO waits for its writer.
      if (!this.fs.statSync(path).isFile())
        throw new SconceError("io", `${path} is not a file`, "Pass the path of a file.");
      this.descriptor = this.fs.openSync(path, "r");
    } catch (error) {
      if (error instanceof SconceError) throw error;
      throw new SconceError(
        "io",
        `cannot open ${path}: ${messageOf(error).split(", ")[0]}`,
        "Check the path and its permissions.",
      );
    }
    this.size = this.fs.fstatSync(this.descriptor).size;
  }

  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.readInto(offset, bytes);
    return bytes;
  }

  /** Reads as many bytes as `target` has: a new array for each read takes longer than the read. */
  readInto(offset: number, target: Uint8Array): void {
    const { length } = target;
    for (let done = 0; done < length;) {
      const count = this.fs.readSync(this.descriptor, target, done, length - done, offset + done);
      if (count === 0) {
        throw new SconceError(
          "io",
          `${this.path} became shorter while it was read`,
          "Leave the file alone until lowering is done.",
        );
      }
      done += count;
    }
  }

  close(): void {
    this.fs.closeSync(this.descriptor);
  }
}

/** A URL as this script's page sees it; itself where there is no page. */
export function absoluteUrl(url: string): string {
  const base = (globalThis as { location?: { href: string } }).location?.href;
  return URL.canParse(url, base) ? new URL(url, base).href : url;
}

/**
 * A URL as a source: read in ranges where the server offers them, which spares downloading weights
 * that are never looked at, else downloaded. What it returns is for the client.
 */
export async function openUrl(
  url: string | HostUrl,
  signal?: HostAbortSignal,
): Promise<UrlRef | Uint8Array<ArrayBuffer>> {
  if (signal !== undefined) mustBe("signal", "the signal of openUrl()", signal);
  const address = absoluteUrl(String(url));
  if (!URL.canParse(address)) throw badArgument("the url of openUrl()", "a URL", url);
  try {
    return await download(address, signal ? { signal } : {});
  } catch (error) {
    if (error instanceof SconceError) throw error;
    throw signal?.aborted ? cancelled(signal) : unreachable(address, error);
  }
}

async function download(
  address: string,
  init: RequestInit,
): Promise<UrlRef | Uint8Array<ArrayBuffer>> {
  if (typeof Worker !== "undefined" && typeof document !== "undefined") {
    const head = await fetch(address, { method: "HEAD", ...init });
    const isWhole = head.headers.get("content-encoding") === null;
    if (head.ok && isWhole && head.headers.get("accept-ranges") === "bytes")
      return { url: address };
  }
  const response = await fetch(address, init);
  if (!response.ok) {
    throw new SconceError("io", `${address} answered ${response.status}`, "Check the address.");
  }
  return new Uint8Array(await response.arrayBuffer());
}

function unreachable(address: string, error: unknown): SconceError {
  const failed = new SconceError(
    "io",
    `${address} cannot be loaded: ${messageOf(error)}`,
    "Check the address and the connection.",
  );
  failed.cause = error;
  return failed;
}

export const SOURCES =
  "a Uint8Array, an ArrayBuffer, a Blob, { path }, { url }, or an object with size and read()";

/** Tells a single source from a record of them. */
export function isSource(value: unknown): value is Source {
  if (isBytes(value) || isArrayBuffer(value) || isBlob(value)) return true;
  if (!isObject(value)) return false;
  return (
    typeof value["read"] === "function" ||
    typeof value["path"] === "string" ||
    typeof value["url"] === "string" ||
    isInflated(value)
  );
}

export function isInflated(value: unknown): value is InflatedArchive {
  return isObject(value) && Array.isArray(value["entries"]) && isSource(value["archive"]);
}

/** Exactly these bytes; throws what the source throws. */
export function readExactly(source: RandomAccess, offset: number, length: number): Uint8Array {
  const bytes: unknown = source.read(offset, length);
  if (!isBytes(bytes))
    throw badArgument("what read() returns", "a Uint8Array, synchronously", bytes);
  if (bytes.length === length) return bytes;
  throw new SconceError(
    "io",
    `read() returned ${bytes.length} bytes instead of ${length}`,
    "Return exactly as many bytes as are asked for.",
  );
}

function bytesOf(buffer: ArrayBuffer, what: string): Uint8Array {
  try {
    return new Uint8Array(buffer);
  } catch {
    const hint = "Read the file again, or transfer a copy: buffer.slice().";
    throw new SconceError("argument", `${what} is gone: its buffer was transferred`, hint);
  }
}

/** A source as random access; `what` names it for messages. */
export function toRandomAccess(
  source: Exclude<Source, InflatedArchive>,
  what: string,
): RandomAccess {
  if (isBytes(source)) return new BytesSource(source);
  if (isArrayBuffer(source)) return new BytesSource(bytesOf(source, what));
  if (isBlob(source)) {
    const Reader = syncReader();
    if (Reader) return new BlobSource(source, Reader);
    throw new SconceError(
      "io",
      "a Blob cannot be read synchronously here",
      "Pass its bytes, new Uint8Array(await blob.arrayBuffer()); a page's client reads it in slices.",
    );
  }
  if (!isSource(source)) throw badArgument(what, SOURCES, source);
  if (!("read" in source))
    return "path" in source ? new FileSource(source.path) : new UrlSource(source.url);
  // Which numbers are sizes is for the core to say.
  if (typeof source.size !== "number")
    throw badArgument(`the size of ${what}`, "a number", source.size);
  return source;
}
