// Classes of the web, as the host's own declarations have them, or as much of them as is used here.
// The declarations of this package name them through this file only. So they need neither the DOM
// library nor @types/node.

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

export type Blob = Host<"Blob", BlobLike>;
