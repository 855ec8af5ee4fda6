// Classes of the web by the host's own declarations, or by the few members that are used here. The
// package's declarations refer to such classes through this file only. So they compile in projects
// with neither the DOM library nor @types/node.

/** The instances of a global class, if the host's declarations have it. */
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
/** A Blob. */
export type HostBlob = Host<"Blob", BlobLike>;

/** A URL. */
export type HostUrl = Host<"URL", { readonly href: string; readonly searchParams: object }>;

interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
/** An AbortSignal. */
export type HostAbortSignal = Host<"AbortSignal", AbortSignalLike>;

interface ResponseLike {
  readonly ok: boolean;
  readonly status: number;
  readonly url: string;
  arrayBuffer(): Promise<ArrayBuffer>;
}
/** A Response of `fetch`. */
export type HostResponse = Host<"Response", ResponseLike>;

/** A WritableStream by the members that are called, because its class is generic. */
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
