// Bytes that come piece by piece: into memory of the right size where that is known, else into blocks
// that grow.
import { noMemory, SconceError } from "../base/errors.js";

/** How many bytes there will be, and how many there may be. */
export interface Limits {
  /** How many bytes there will be; 0 when unknown. */
  readonly total: number;
  /** Is `total` the truth, or a hint that may be that of a compressed answer? */
  readonly isExact: boolean;
  readonly maxBytes: number;
}

const BLOCK_BYTES_MIN = 1 << 16;
const BLOCK_BYTES_MAX = 1 << 24;

/** The error of a file that is larger than what may be taken. */
export function tooLarge(name: string, maxBytes: number): SconceError {
  return new SconceError(
    "out_of_memory",
    `${name} is larger than the ${maxBytes} bytes that may be read into memory`,
    "Raise maxBytes of fetchSource, or pass a large file as { path } or as a File.",
  );
}

function room(bytes: number, name: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes);
  } catch {
    throw noMemory(`the ${bytes} bytes of ${name}`);
  }
}

/** Bytes that arrive piece by piece. */
export class Collected {
  size = 0;
  private block: Uint8Array<ArrayBuffer>;
  private filled = 0;
  private readonly blocks: Uint8Array<ArrayBuffer>[] = [];
  private inBlocks = 0;

  constructor(
    private readonly name: string,
    private readonly limits: Limits,
  ) {
    const { total, isExact, maxBytes } = limits;
    if (isExact && total > maxBytes) throw tooLarge(name, maxBytes);
    this.block = room(isExact ? total : BLOCK_BYTES_MIN, name);
  }

  /** Copies the piece. Its maker may use the memory again. */
  add(piece: Uint8Array): void {
    const { total, isExact, maxBytes } = this.limits;
    this.size += piece.length;
    if (isExact && this.size > total) throw this.wrongLength("more");
    if (this.size > maxBytes) throw tooLarge(this.name, maxBytes);
    for (let at = 0; at < piece.length;) {
      if (this.filled === this.block.length) this.nextBlock();
      const part = piece.subarray(at, at + this.block.length - this.filled);
      this.block.set(part, this.filled);
      this.filled += part.length;
      at += part.length;
    }
  }

  private nextBlock(): void {
    this.endBlock();
    const bytes = Math.min(Math.max(BLOCK_BYTES_MIN, this.inBlocks), BLOCK_BYTES_MAX);
    this.block = room(bytes, this.name);
    this.filled = 0;
  }

  private endBlock(): void {
    this.blocks.push(this.block.subarray(0, this.filled));
    this.inBlocks += this.filled;
  }

  private wrongLength(than: "more" | "fewer"): SconceError {
    return new SconceError(
      "io",
      `${this.name} sent ${than} than the ${this.limits.total} bytes that it announced`,
      "Load it again. If it stays so, check the server's header content-length.",
    );
  }

  finish(): Uint8Array<ArrayBuffer> {
    const { total, isExact } = this.limits;
    if (isExact && this.size !== total) throw this.wrongLength("fewer");
    if (this.filled === this.size && this.size === this.block.length) return this.block;
    this.endBlock();
    const whole = room(this.size, this.name);
    let at = 0;
    // Each block is let go as soon as it was copied.
    for (let block = this.blocks.shift(); block; block = this.blocks.shift()) {
      whole.set(block, at);
      at += block.length;
    }
    return whole;
  }
}
