// Writing a file piece by piece to what the caller gave: a function, a web stream, or anything with
// a write of its own, Node's streams among them. A stream that fails fails the call with "io"; what
// making the pieces throws, listeners included, stays what it is.
import { orAborted } from "../base/abort.js";
import { badArgument, isObject } from "../base/check.js";
import { cancelled, messageOf, SconceError, withCause } from "../base/errors.js";
import type { HostWritableStream } from "../types/host.js";
import { appendTo, toPathOutlet } from "./file.js";
import type { Outlet } from "./outlet.js";
import { pathOf } from "../source/address.js";
import { isFileRef, isOpenFile, isPlace } from "../source/kinds.js";
import type { Sink, WritableFile } from "../types/index.js";

type Pieces = Iterable<Uint8Array<ArrayBuffer>> | AsyncIterable<Uint8Array<ArrayBuffer>>;

/** The members of a Node stream that are needed here. */
interface NodeStream {
  write(chunk: Uint8Array<ArrayBuffer>, done: (error?: Error | null) => void): unknown;
  on(event: string, listener: (error?: Error | null) => void): unknown;
  off(event: string, listener: (error?: Error | null) => void): unknown;
}

const ignore = (): void => undefined;

/** Runs a call of a stream. Its error becomes one with the code "io". */
export async function asIo<T>(act: () => T): Promise<Awaited<T>> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof SconceError) throw error;
    throw withCause(
      new SconceError(
        "io",
        `the stream cannot be written: ${messageOf(error)}`,
        "Pass a stream that is open, with room for the whole file.",
      ),
      error,
    );
  }
}

type WebStream = HostWritableStream<Uint8Array<ArrayBuffer>>;

async function toWebStream(sink: WebStream): Promise<Outlet> {
  const writer = await asIo(() => sink.getWriter());
  return {
    write: (piece) => asIo(() => writer.write(piece)),
    close: async () => {
      await asIo(() => writer.close());
      writer.releaseLock();
    },
    abort: (reason) => {
      const aborted = writer.abort(reason).catch(ignore);
      writer.releaseLock();
      return aborted;
    },
  };
}

/** Waits for every piece, which also holds back: Node tells failures to callbacks and events only. */
function toNodeStream(sink: NodeStream): Outlet {
  let broken: Error | undefined;
  let isOver = false;
  let stop: (reason: unknown) => void = ignore;
  const onEnd = (error?: Error | null): void =>
    stop((broken ??= error ?? new Error("it was closed")));
  sink.on("error", onEnd);
  sink.on("close", onEnd);
  const leave = (): void => {
    isOver = true;
    sink.off("close", onEnd);
    // A stream that failed keeps the listener: the event may come after the callback that reported it.
    if (!broken) sink.off("error", onEnd);
  };
  const write = (piece: Uint8Array<ArrayBuffer>): Promise<void> =>
    new Promise((resolve, reject) => {
      stop = reject;
      if (broken) return reject(broken);
      sink.write(piece, (error) => {
        // The event of a write that was given up must not end a process that does not listen.
        if (error && isOver && !broken) sink.on("error", onEnd);
        if (error) onEnd(error);
        else resolve();
      });
    });
  return {
    write: (piece) => asIo(() => write(piece)),
    close: leave,
    abort: (reason) => {
      leave();
      stop(reason);
    },
  };
}

const SINKS =
  "a path, { path }, a FileSystemFileHandle, a function, a WritableStream, or an object with write()";

async function outletOf(sink: Sink): Promise<Outlet> {
  const rest = { close: ignore, abort: ignore };
  if (typeof sink === "function") return { write: (piece) => sink(piece), ...rest };
  if (isPlace(sink)) return toPathOutlet(pathOf(sink, "the sink"));
  const members: Record<string, unknown> = isObject(sink) ? sink : {};
  const has = (name: string): boolean => typeof members[name] === "function";
  if (has("getWriter")) return toWebStream(sink as WebStream);
  if (has("createWritable"))
    return toWebStream(await asIo(() => (sink as WritableFile).createWritable()));
  if (isOpenFile(sink)) return { write: (piece) => asIo(() => appendTo(sink, piece)), ...rest };
  if (!has("write") && isFileRef(sink)) return toPathOutlet(pathOf(sink.path, "the sink"));
  if (!has("write")) throw badArgument("the sink", SINKS, sink);
  if (has("on") && has("destroy")) return toNodeStream(sink as unknown as NodeStream);
  const { write } = sink as { write(chunk: Uint8Array<ArrayBuffer>): unknown };
  return { write: (piece) => asIo(() => write.call(sink, piece)), ...rest };
}

function mayGoOn(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw cancelled(signal);
}

/** Longest that pieces are made without timers, events and painting having their turn. */
const TURN_MS = 16;

/**
 * Lets what waits in the event loop run. Timers come last: browsers hold nested ones back, and those
 * of pages in the background for a second and more. Nothing of it outlives its turn.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === "function") setImmediate(resolve);
    else if (typeof MessageChannel === "function") {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(undefined);
    } else setTimeout(resolve, 0);
  });
}

/** The pieces while the call goes on: quick sinks wait for promises only, which starves the loop. */
async function* paced(
  pieces: Pieces,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  let since = performance.now();
  for await (const piece of pieces) {
    mayGoOn(signal);
    yield piece;
    mayGoOn(signal);
    if (performance.now() - since < TURN_MS) continue;
    await nextTurn();
    mayGoOn(signal);
    since = performance.now();
  }
}

async function writeInto(
  pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
  outlet: Outlet,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    for await (const piece of pieces) await outlet.write(piece);
    mayGoOn(signal);
    await outlet.close();
  } catch (error) {
    await outlet.abort(error);
    throw error;
  }
}

/**
 * Writes the pieces. Once cancelled it waits no longer for the sink, which gets no more of them and
 * is aborted if it is a web stream, and lets go of sink and pieces.
 */
export async function writeAll(pieces: Pieces, sink: Sink, signal?: AbortSignal): Promise<void> {
  const outlet = await outletOf(sink);
  const flow = paced(pieces, signal);
  const stop = (error: Error): void => {
    void outlet.abort(error);
    flow.return().catch(ignore);
  };
  try {
    return await orAborted(() => writeInto(flow, outlet, signal), signal, stop);
  } catch (error) {
    // A signal that was aborted before keeps the work from beginning.
    if (signal?.aborted) await outlet.abort(error);
    throw error;
  }
}
