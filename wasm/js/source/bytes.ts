// A file in memory, and reading of exactly what was asked for.
import { badArgument } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { isBytes } from "../base/tags.js";
import type { RandomAccess } from "../types/index.js";

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
  slice(offset: number, length: number): Blob {
    return new Blob([this.bytes.slice(offset, offset + length)]);
  }
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

/** The bytes of a buffer, which `what` names. */
export function bytesOf(buffer: ArrayBuffer, what: string): Uint8Array {
  try {
    return new Uint8Array(buffer);
  } catch {
    const hint = "Read the file again, or transfer a copy: buffer.slice().";
    throw new SconceError("argument", `${what} is gone: its buffer was transferred`, hint);
  }
}
