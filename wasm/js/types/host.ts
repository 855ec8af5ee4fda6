// Classes of the web as the host's own declarations have them, or as much of them as is used here.
// The package's declarations name such classes through this file only, so that they compile in projects
// with neither the DOM library nor @types/node.

/** The instances of a global class, where the host's declarations have it. */
export type Host<Name extends string, Otherwise = never> = typeof globalThis extends {
  [K in Name]: { prototype: infer Instance };
}
  ? Instance
  : Otherwise;

interface BlobLike {
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
  slice(start?: number, end?: number, type?: string): BlobLike;
  text(): Promise<string>;
}
export type HostBlob = Host<"Blob", BlobLike>;

export type HostUrl = Host<"URL", { readonly href: string; readonly searchParams: object }>;

interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
export type HostAbortSignal = Host<"AbortSignal", AbortSignalLike>;

interface ResponseLike {
  readonly ok: boolean;
  readonly status: number;
  readonly url: string;
  arrayBuffer(): Promise<ArrayBuffer>;
}
export type HostResponse = Host<"Response", ResponseLike>;

/** A WritableStream by what is called, because its class is generic. */
export interface HostWritableStream<T> {
  readonly locked: boolean;
  getWriter(): {
    readonly ready: Promise<unknown>;
    write(chunk: T): Promise<void>;
    close(): Promise<void>;
    abort(reason?: unknown): Promise<void>;
    releaseLock(): void;
  };
}

/** A compiled module of WebAssembly. */
export type WasmModule = typeof globalThis extends {
  WebAssembly: { Module: { prototype: infer Module } };
}
  ? Module
  : object;
