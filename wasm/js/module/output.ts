// A file that a compilation has made: chunks of memory and slices of the files that were opened, as
// pieces of memory or as a Blob.
import type { Job } from "./job.js";
import { cancelled } from "../base/errors.js";
import type { CallOptions, ProgressListener } from "../types/index.js";

const PIECE_BYTES_MAX = 1 << 20;
const BLOB_PIECES_MAX = 8;
const CHUNK_KIND = { bytes: 0, extent: 1, zeros: 2 } as const;

interface Chunk {
  kind: number;
  address: number;
  source: number;
  offset: number;
  size: number;
}

/** A file while it is written: tells how far it is, and ends when the call is cancelled. */
class Writing {
  /** The offset at which the current chunk begins. */
  begin = 0;
  private done = 0;

  constructor(
    private readonly total: number,
    private readonly call: CallOptions,
  ) {}

  mayGoOn(): void {
    const { signal } = this.call;
    if (signal?.aborted) throw cancelled(signal);
  }

  /** For reading of the chunk: permuting takes longer than all else. */
  options(): CallOptions {
    const { signal } = this.call;
    const { begin } = this;
    const onProgress: ProgressListener = ({ phase, done }) => {
      if (phase === "gather") this.reach(begin + done);
    };
    return signal ? { signal, onProgress } : { onProgress };
  }

  /** Silent once cancelled: the call may have failed by then. */
  reach(done: number): void {
    if (done <= this.done || this.call.signal?.aborted) return;
    this.done = done;
    this.call.onProgress?.({ phase: "write", done, total: this.total });
  }
}

/** Pieces as Blobs, a few at a time: browsers keep the bytes of Blobs elsewhere, on disk if need be. */
function* blobsOf(pieces: Iterable<Uint8Array<ArrayBuffer>>): Generator<Blob> {
  let group: BlobPart[] = [];
  for (const piece of pieces) {
    group.push(piece as BlobPart);
    if (group.length < BLOB_PIECES_MAX) continue;
    yield new Blob(group);
    group = [];
  }
  if (group.length > 0) yield new Blob(group);
}

/** One file, by its number among all that the job has made. */
export class Output {
  constructor(
    /** Gives the job of the file's owner. Throws once the owner is disposed. */
    private readonly owner: () => Job,
    private readonly number: number,
    private readonly size: number,
  ) {}

  private get job(): Job {
    return this.owner();
  }

  private *chunks(): Generator<Chunk> {
    const { job } = this;
    const { memory } = job.core;
    const count = job.enter({}, (raw, s) => raw.output_chunk_count(s, this.number));
    for (let i = 0; i < count; i++) {
      yield memory.with(40, (five) => {
        job.call({}, (r, s) => r.output_chunk(s, this.number, i, five));
        const [kind, address, source, offset, size] = memory.numbers(five, 5) as [
          number,
          number,
          number,
          number,
          number,
        ];
        return { kind, address, source, offset, size };
      });
    }
  }

  /** Pieces of at most a megabyte, in order, all but the last one full. Each is the receiver's own. */
  pieces(options: CallOptions = {}): Generator<Uint8Array<ArrayBuffer>> {
    return this.filled(PIECE_BYTES_MAX, options);
  }

  private *filled(pieceBytes: number, options: CallOptions): Generator<Uint8Array<ArrayBuffer>> {
    const writing = new Writing(this.size, options);
    let left = this.size;
    let index = 0;
    let piece = new Uint8Array(Math.min(pieceBytes, left));
    let filled = 0;
    for (const chunk of this.chunks()) {
      for (let at = 0; at < chunk.size;) {
        const bytes = Math.min(piece.length - filled, chunk.size - at, PIECE_BYTES_MAX);
        this.fill(piece.subarray(filled, filled + bytes), index, chunk, at, writing);
        at += bytes;
        filled += bytes;
        if (filled < piece.length) continue;
        yield piece;
        left -= filled;
        writing.reach(this.size - left);
        piece = new Uint8Array(Math.min(pieceBytes, left));
        filled = 0;
      }
      writing.begin += chunk.size;
      index++;
    }
  }

  /** Bytes of a chunk, as many as `target` has room for. */
  private fill(
    target: Uint8Array,
    index: number,
    chunk: Chunk,
    at: number,
    writing: Writing,
  ): void {
    writing.mayGoOn();
    const { core } = this.job;
    if (chunk.kind === CHUNK_KIND.zeros) return;
    if (chunk.kind === CHUNK_KIND.bytes)
      target.set(core.memory.bytes(chunk.address + at, target.length));
    else if (!core.readInto(chunk.source, chunk.offset + at, target))
      this.read(target, index, at, writing);
  }

  /** Through the module: what is derived from a file, and what the caller reads. */
  private read(target: Uint8Array, index: number, at: number, writing: Writing): void {
    const { job } = this;
    const { memory } = job.core;
    memory.with(target.length, (address) => {
      job.call(writing.options(), (raw, s) =>
        raw.output_read(s, this.number, index, at, address, target.length),
      );
      target.set(memory.bytes(address, target.length));
    });
  }

  private *chunkPieces(
    index: number,
    chunk: Chunk,
    writing: Writing,
  ): Generator<Uint8Array<ArrayBuffer>> {
    const { begin } = writing;
    for (let at = 0; at < chunk.size; at += PIECE_BYTES_MAX) {
      const piece = new Uint8Array(Math.min(PIECE_BYTES_MAX, chunk.size - at));
      this.fill(piece, index, chunk, at, writing);
      yield piece;
      writing.reach(begin + at + piece.length);
    }
    writing.begin = begin + chunk.size;
  }

  /** Frees the module's memory of a file that belongs to no program, once it was read. */
  free(): void {
    try {
      this.job.enter({}, (raw, s) => raw.output_free(s, this.number));
    } catch {
      // With a job that is closed, or an engine that is dead, it is gone already.
    }
  }

  whole(): Uint8Array<ArrayBuffer> {
    const [all] = this.filled(this.size, {});
    return all ?? new Uint8Array(0);
  }

  /** Slices of files that the host can slice stay slices; all else is read a few pieces at a time. */
  toBlob(options: CallOptions): Blob {
    const parts: Blob[] = [];
    const writing = new Writing(this.size, options);
    let index = 0;
    for (const chunk of this.chunks()) {
      writing.mayGoOn();
      const slice =
        chunk.kind === CHUNK_KIND.extent && chunk.source !== 0
          ? this.job.core.source(chunk.source)?.slice?.(chunk.offset, chunk.size)
          : undefined;
      if (slice) {
        parts.push(slice);
        writing.reach((writing.begin += chunk.size));
      } else parts.push(...blobsOf(this.chunkPieces(index, chunk, writing)));
      index++;
    }
    return new Blob(parts, { type: "application/octet-stream" });
  }
}
