// Sources that take time to be read, read: what the caller gives becomes what an engine takes at once.
// The client does that on the caller's side, where streams are, and relative addresses are right.
import { badArgument, isPlain } from "../base/check.js";
import { cancelled, messageOf, SconceError, withCause } from "../base/errors.js";
import { isArrayBuffer, isBlob, isBytes, isResponse } from "../base/tags.js";
import type {
  AwaitedSource,
  ByteStream,
  ExecutorchProgramManager,
  FetchOptions,
  FileRef,
  LoweredProgram,
  OpenFile,
  PickedFile,
  Programs,
  ReadySource,
  RequestOptions,
  Source,
  UrlRef,
} from "../types/index.js";
import { locate, locateUrl, pathOf, type Located } from "./address.js";
import { syncReader, wholeBlob } from "./blob.js";
import { tooLarge } from "./collected.js";
import { HandleSource } from "./file.js";
import { download, readResponse, type Taking } from "./fetched.js";
import {
  checkUrlRef,
  isAsyncIterable,
  isFileRef,
  isLowered,
  isOpenFile,
  isPickedFile,
  isPlace,
  isPromise,
  isSource,
  isStream,
  isUrlRef,
  SOURCES,
  waitedName,
} from "./kinds.js";
import { DownloadProgress } from "./progress.js";
import { readStream } from "./stream.js";

/** The most bytes of a file that are read into memory unless the caller says otherwise. */
export const MEMORY_BYTES_MAX = 2 ** 31;

/** The engine that reads the sources, as far as it matters here. */
export interface Reader {
  /** Is it the engine of a worker, which objects with methods do not reach? */
  readonly isRemote: boolean;
  /** Can it read a Blob in slices? */
  readonly takesBlob: boolean;
  /** Are few bytes needed, and can it ask for ranges of an address? */
  readonly takesRanges: boolean;
}

/** The engine of this thread. */
export const HERE: Reader = {
  isRemote: false,
  get takesBlob() {
    return syncReader() !== undefined;
  },
  takesRanges: false,
};

type Call = {
  readonly [K in "signal" | "onProgress" | "maxBytes" | "onLog"]?: FetchOptions[K] | undefined;
};

/** One call's sources while they are gathered. */
export class Gathering {
  /** Memory that nobody else knows of. */
  readonly owned: ArrayBuffer[] = [];
  private readonly controller = new AbortController();
  /** Aborted once nobody listens any more. */
  private readonly over = new AbortController();
  private readonly progress: DownloadProgress;

  constructor(
    private readonly call: Call,
    private readonly reader: Reader,
  ) {
    this.progress = new DownloadProgress(call.onProgress);
  }

  /** Runs a gathering, which ends when the caller cancels. If it fails, all its downloads end. */
  async run<T>(body: (gathering: this) => Promise<T>): Promise<T> {
    const { signal } = this.call;
    if (signal?.aborted) throw cancelled(signal);
    const aborted = new Promise<never>((_, reject) => {
      const { signal: whileOn } = this.over;
      signal?.addEventListener("abort", () => reject(cancelled(signal)), { signal: whileOn });
    });
    try {
      return await Promise.race([aborted, body(this)]);
    } catch (error) {
      this.controller.abort();
      throw error;
    } finally {
      this.over.abort();
    }
  }

  private taking(signal?: AbortSignal): Taking {
    return {
      signal: signal ? this.orOf(signal) : this.controller.signal,
      maxBytes: this.call.maxBytes ?? MEMORY_BYTES_MAX,
      takesRanges: this.reader.takesRanges,
      onBytes: this.progress.ofFile(),
      onLog: this.call.onLog,
    };
  }

  /** Aborted with the signal of one source, or with the call. */
  private orOf(signal: AbortSignal): AbortSignal {
    const both = new AbortController();
    for (const one of [signal, this.controller.signal]) {
      const abort = (): void => both.abort(one.reason);
      if (one.aborted) abort();
      one.addEventListener("abort", abort, { signal: this.over.signal });
    }
    return both.signal;
  }

  private own<T>(file: T): T {
    if (isBytes(file) && isArrayBuffer(file.buffer)) this.owned.push(file.buffer);
    return file;
  }

  /** A source that can be read at once. `request` says how addresses are fetched. */
  async source(source: Source, what: string, request: RequestOptions = {}): Promise<ReadySource> {
    if (isPromise(source)) return this.source((await source) as Source, what, request);
    if (isPlace(source)) return this.located(locate(source, what), request);
    // Responses have addresses, too.
    if (isUrlRef(source) && waitedName(source) === undefined) {
      checkUrlRef(source, what);
      return this.located(locateUrl(source.url, what), { ...request, ...source });
    }
    noRequest(source, what, request);
    return this.read(source, what);
  }

  /** A source that has no address. */
  private async read(source: AwaitedSource, what: string): Promise<ReadySource> {
    if (isLowered(source)) return this.lowered(source);
    if (isBlob(source)) return this.blob(source, what);
    if (isResponse(source))
      return this.own(await readResponse(source, source.url || what, this.taking()));
    if (isPickedFile(source)) return this.blob(await pickedBlob(source, what), what);
    if (isOpenFile(source)) return this.openFile(source, what);
    if (isStream(source) || isAsyncIterable(source)) return this.stream(source, what);
    if (isFileRef(source)) return fileRef(source, what);
    if (!isSource(source)) throw badArgument(what, SOURCES, source);
    return source as ReadySource;
  }

  private async located(
    at: Located,
    { signal, ...options }: RequestOptions & Pick<UrlRef, "signal">,
  ): Promise<ReadySource> {
    if ("path" in at) return at;
    return this.own(await download({ ...options, ...at }, this.taking(signal)));
  }

  private async stream(
    source: ByteStream | AsyncIterable<unknown>,
    name: string,
  ): Promise<ReadySource> {
    const taking = this.taking();
    const onBytes = (done: number): void => taking.onBytes(done, 0);
    const reading = { ...taking, name, total: 0, isExact: false, onBytes };
    return this.own(await readStream(source, reading));
  }

  private mustFit(bytes: number, what: string): void {
    const { maxBytes = MEMORY_BYTES_MAX } = this.call;
    if (bytes > maxBytes) throw tooLarge(what, maxBytes);
  }

  private async blob(blob: Blob, what: string): Promise<ReadySource> {
    if (this.reader.takesBlob) return blob;
    this.mustFit(blob.size, what);
    return this.own(await wholeBlob(blob));
  }

  /** A FileHandle does not cross, and its number may be that of another file by then. */
  private openFile(handle: OpenFile, what: string): ReadySource {
    if (!this.reader.isRemote) return handle;
    const file = new HandleSource(handle);
    this.mustFit(file.size, what);
    return this.own(file.read(0, file.size));
  }

  /** The program of this thread's engine does not cross. That of another worker comes from there. */
  private async lowered(program: LoweredProgram): Promise<ReadySource> {
    const { buffer } = program;
    return this.reader.isRemote || isPromise(buffer)
      ? buffer
      : (program as ExecutorchProgramManager);
  }
}

async function pickedBlob(file: PickedFile, what: string): Promise<Blob> {
  try {
    return await file.getFile();
  } catch (error) {
    const hint = "Ask for the file again: it may have moved, or the permission may have ended.";
    throw withCause(
      new SconceError("io", `${what} cannot be read: ${messageOf(error)}`, hint),
      error,
    );
  }
}

function fileRef(source: FileRef, what: string): ReadySource {
  const path = pathOf(source.path, what);
  return path === source.path ? (source as { path: string }) : { path };
}

/** Throws where it was said how to fetch what is not fetched here. */
function noRequest(source: unknown, what: string, request: RequestOptions): void {
  const [name] = Object.keys(request);
  if (name === undefined || isFileRef(source)) return;
  const hint = "Pass it to the fetch() that makes the Response, or pass the address.";
  throw new SconceError(
    "argument",
    `'${name}' applies to addresses only, and ${what} is not one`,
    hint,
  );
}

/** Programs of which every source can be read at once. */
export async function gatherPrograms(
  programs: Programs,
  call: Call,
  what: string,
): Promise<Programs> {
  if (!isSource(programs) && !isPlain(programs)) return programs;
  return new Gathering(call, HERE).run(async (gathering) => {
    if (isSource(programs)) return gathering.source(programs, what);
    const list = Object.entries(programs).map(async ([method, source]) => {
      if (!isSource(source)) return [method, source];
      try {
        return [method, await gathering.source(source, `${what} of method '${method}'`)];
      } catch (error) {
        throw error instanceof SconceError ? error.ofMethod(method) : error;
      }
    });
    return Object.fromEntries(await Promise.all(list)) as Programs;
  });
}
