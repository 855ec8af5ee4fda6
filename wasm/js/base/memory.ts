// Access to the module's memory. Views are made anew for every use and never kept: the memory may
// grow in any call, which detaches every view taken before. If threads share it, browsers take views
// of it for nothing but reading and writing numbers.
import { noMemory } from "./errors.js";
import type { Pointer, RawExports } from "../border/abi.gen.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Frees what a call allocated when the call is over, however it ends. */
export class Memory {
  constructor(private readonly raw: RawExports) {}

  bytes(address: Pointer, size: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.raw.memory.buffer, address, size);
  }

  /** A copy that outlives the next call. */
  copy(address: Pointer, size: number): Uint8Array<ArrayBuffer> {
    return this.bytes(address, size).slice();
  }

  text(address: Pointer, size: number): string {
    return decoder.decode(this.copy(address, size));
  }

  /** Text that ends with a zero byte. */
  zeroTerminated(address: Pointer): string {
    const all = new Uint8Array(this.raw.memory.buffer);
    return decoder.decode(all.slice(address, all.indexOf(0, address)));
  }

  numbers(address: Pointer, count: number): number[] {
    return [...new Float64Array(this.raw.memory.buffer, address, count)];
  }

  get heapBytes(): number {
    return this.raw.memory.buffer.byteLength;
  }

  alloc(bytes: number): Pointer {
    // Beyond 32 bits the module would see another number.
    const address = bytes < 2 ** 32 ? this.raw.memory_alloc(bytes) : 0;
    if (address === 0) throw noMemory(`${bytes} bytes`);
    return address;
  }

  free(address: Pointer): void {
    this.raw.memory_free(address);
  }

  /** Runs `body` with memory that is freed afterwards. */
  with<T>(bytes: number, body: (address: Pointer) => T): T {
    const address = this.alloc(bytes);
    try {
      return body(address);
    } finally {
      this.free(address);
    }
  }

  /** An unsigned number of 32 bits. */
  number(address: Pointer): number {
    return new DataView(this.raw.memory.buffer).getUint32(address, true);
  }

  /** Runs `body` with an array of such numbers in memory. */
  withNumbers<T>(numbers: readonly number[], body: (list: Pointer, count: number) => T): T {
    return this.with(numbers.length * 4 + 4, (list) => {
      new Uint32Array(this.raw.memory.buffer, list, numbers.length).set(numbers);
      return body(list, numbers.length);
    });
  }

  /** Runs `body` with texts in memory, as (address, size) pairs in order. */
  withTexts<T>(texts: readonly string[], body: (...pairs: number[]) => T): T {
    const encoded = texts.map((text) => encoder.encode(text));
    const total = encoded.reduce((sum, e) => sum + e.length, 0);
    return this.with(total + 1, (address) => {
      const pairs: number[] = [];
      let next = address;
      for (const bytes of encoded) {
        this.bytes(next, bytes.length).set(bytes);
        pairs.push(next, bytes.length);
        next += bytes.length;
      }
      return body(...pairs);
    });
  }
}
