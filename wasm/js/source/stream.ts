// Streams read to their ends: bounded, stopped at once when the call is cancelled, and never partly
// taken for the whole.
import { badArgument } from "../base/check.js";
import { cancelled, messageOf, SconceError, withCause } from "../base/errors.js";
import { isArrayBuffer } from "../base/tags.js";
import type { ByteStream } from "../types/index.js";
import { Collected, type Limits } from "./collected.js";

export interface Reading extends Limits {
  /** Names the stream for messages. */
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
  onBytes(done: number): void;
}

/** The pieces of a stream, one for each call, and undefined at the end. */
interface Pieces {
  next(): Promise<unknown>;
  stop(reason: unknown): unknown;
}

function fromStream(stream: ByteStream, name: string): Pieces {
  if (stream.locked) {
    const hint = "Pass a stream that nobody else reads.";
    throw new SconceError("state", `${name} is locked: something else reads it`, hint);
  }
  const reader = stream.getReader();
  return {
    next: async () => {
      const { done, value } = await reader.read();
      return done ? undefined : value;
    },
    stop: (reason) => reader.cancel(reason),
  };
}

function fromIterable(iterable: AsyncIterable<unknown>): Pieces {
  const iterator = iterable[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { done, value } = await iterator.next();
      return done ? undefined : value;
    },
    // A generator that waits would answer only when its wait is over.
    stop: (reason) => {
      const { destroy } = iterable as { destroy?: (error: unknown) => void };
      if (typeof destroy === "function") destroy.call(iterable, reason);
      else void iterator.return?.()?.catch(() => undefined);
    },
  };
}

const piecesOf = (source: ByteStream | AsyncIterable<unknown>, name: string): Pieces =>
  "getReader" in source ? fromStream(source, name) : fromIterable(source);

function toBytes(piece: unknown, name: string): Uint8Array {
  if (ArrayBuffer.isView(piece))
    return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  if (isArrayBuffer(piece)) return new Uint8Array(piece);
  throw badArgument(`a piece of ${name}`, "a Uint8Array", piece);
}

async function collect(pieces: Pieces, reading: Reading): Promise<Uint8Array<ArrayBuffer>> {
  const collected = new Collected(reading.name, reading);
  for (;;) {
    let piece: unknown;
    try {
      piece = await pieces.next();
    } catch (error) {
      throw brokenOff(reading, collected.size, error);
    }
    if (reading.signal?.aborted) throw cancelled(reading.signal);
    if (piece === undefined) return collected.finish();
    collected.add(toBytes(piece, reading.name));
    reading.onBytes(collected.size);
  }
}

function brokenOff({ name, total }: Reading, done: number, error: unknown): SconceError {
  if (error instanceof SconceError) return error;
  const of = total > 0 ? ` of ${total}` : "";
  return withCause(
    new SconceError(
      "io",
      `${name} broke off after ${done}${of} bytes: ${messageOf(error)}`,
      "Check the connection, and try again.",
    ),
    error,
  );
}

/** All bytes of a stream. */
export async function readStream(
  source: ByteStream | AsyncIterable<unknown>,
  reading: Reading,
): Promise<Uint8Array<ArrayBuffer>> {
  const { signal, name } = reading;
  if (signal?.aborted) throw cancelled(signal);
  const pieces = piecesOf(source, name);
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(cancelled(signal));
  });
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([aborted, collect(pieces, reading)]);
  } catch (error) {
    // The stream says again that it failed, if it did.
    void Promise.resolve(pieces.stop(error)).catch(() => undefined);
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
