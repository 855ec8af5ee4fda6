// Files and Blobs, read in slices without waiting, which browsers allow in workers only.
import { messageOf, SconceError, withCause } from "../base/errors.js";
import { WindowedSource } from "./windows.js";

interface SyncReader {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}
type SyncReaderConstructor = new () => SyncReader;

export function syncReader(): SyncReaderConstructor | undefined {
  return (globalThis as { FileReaderSync?: SyncReaderConstructor }).FileReaderSync;
}

export class BlobSource extends WindowedSource {
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

/** All bytes of a Blob. */
export async function wholeBlob(blob: Blob): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch (error) {
    const hint = "Pick the file again, and leave it alone until lowering is done.";
    throw withCause(
      new SconceError("io", `the Blob cannot be read: ${messageOf(error)}`, hint),
      error,
    );
  }
}
