// Reading where every read is a round trip.
import type { RandomAccess } from "../types/index.js";

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
