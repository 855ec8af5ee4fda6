// Writing a file piece by piece to what the caller gave: a function, a web stream, or anything with
// a write of its own, Node's streams among them. A stream that fails fails the call with "io".
import { badArgument, isObject } from "./check.js";
import { cancelled, messageOf, SconceError } from "./errors.js";
import type { Sink } from "./types.js";

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** What of a Node stream is needed here. */
interface NodeStream {
  write(chunk: Uint8Array, done: (error?: Error | null) => void): unknown;
  on(event: string, listener: (error?: Error | null) => void): unknown;
  off(event: string, listener: (error?: Error | null) => void): unknown;
}

function failed(error: unknown): SconceError {
  const wrapped = new SconceError(
    "io",
    `the stream cannot be written: ${messageOf(error)}`,
    "Pass a stream that is open, with room for the whole file.",
  );
  wrapped.cause = error;
  return wrapped;
}

async function toWebStream(pieces: Pieces, sink: WritableStream<Uint8Array>): Promise<void> {
  const writer = sink.getWriter();
  try {
    for await (const piece of pieces) await writer.write(piece);
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => undefined);
    throw error;
  } finally {
    writer.releaseLock();
  }
}

/** Waits for every piece, which also holds back: Node tells failures to callbacks and events only. */
async function toNodeStream(pieces: Pieces, sink: NodeStream): Promise<void> {
  let broken: Error | undefined;
  let stop: (error: Error) => void = () => undefined;
  const onEnd = (error?: Error | null): void =>
    stop((broken ??= error ?? new Error("it was closed")));
  sink.on("error", onEnd);
  sink.on("close", onEnd);
  try {
    for await (const piece of pieces) {
      await new Promise<void>((resolve, reject) => {
        stop = reject;
        if (broken) reject(broken);
        else sink.write(piece, (error) => (error ? onEnd(error) : resolve()));
      });
    }
  } finally {
    sink.off("close", onEnd);
    // A stream that failed keeps the listener: the event may come after the callback that told.
    if (!broken) sink.off("error", onEnd);
  }
}

async function writeInto(pieces: Pieces, sink: Sink): Promise<void> {
  if (typeof sink === "function") {
    for await (const piece of pieces) await sink(piece);
    return;
  }
  const members: Record<string, unknown> = isObject(sink) ? sink : {};
  const has = (name: string): boolean => typeof members[name] === "function";
  const accepts = "a function, a WritableStream, or an object with write()";
  if (!has("getWriter") && !has("write")) throw badArgument("the sink", accepts, sink);
  try {
    if (has("getWriter")) await toWebStream(pieces, sink as WritableStream<Uint8Array>);
    else if (has("on") && has("destroy")) await toNodeStream(pieces, sink as unknown as NodeStream);
    else
      for await (const piece of pieces)
        await (sink as { write(chunk: Uint8Array): unknown }).write(piece);
  } catch (error) {
    throw error instanceof SconceError ? error : failed(error);
  }
}

/** Writes the pieces; once cancelled it waits no longer for the sink, which gets no more of them. */
export async function writeAll(pieces: Pieces, sink: Sink, signal?: AbortSignal): Promise<void> {
  if (!signal) return writeInto(pieces, sink);
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => (stop = () => reject(cancelled())));
  const mayGoOn = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      if (signal.aborted) throw cancelled();
      yield piece;
    }
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    await Promise.race([aborted, writeInto(mayGoOn(), sink)]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
