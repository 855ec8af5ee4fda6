// Files that a worker makes, read here: a Blob, piece by piece, with one progress of both.
import { messageOf, SconceError, withCause } from "../base/errors.js";
import type { ProgressListener } from "../types/index.js";

/** Two listeners of one progress. */
export interface Halves {
  first: ProgressListener;
  /** Takes bytes. */
  second(done: number, total: number): void;
}

/** The file passes twice, into the Blob and out of it: one progress of both, until cancelled. */
export function halvesOf(
  onProgress: ProgressListener | undefined,
  signal: AbortSignal | undefined,
): Halves {
  const tell: ProgressListener = (progress) => {
    if (!signal?.aborted) onProgress?.(progress);
  };
  return {
    first: ({ phase, done, total }) => tell({ phase, done, total: 2 * total }),
    second: (done, total) => tell({ phase: "write", done: total + done, total: 2 * total }),
  };
}

/** What comes of reading a Blob whose weights may be slices of a file, which can change or vanish. */
function unreadable(error: unknown): SconceError {
  return withCause(
    new SconceError(
      "io",
      `cannot read what is to be written: ${messageOf(error)}`,
      "Check that the file can be read and has not changed on disk.",
    ),
    error,
  );
}

/** The bytes of the file that `get` gives. */
export async function* piecesOf(
  get: () => Promise<Blob>,
  onDone: Halves["second"],
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const blob = await get();
  const reader = (blob.stream() as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
  const read = (): ReturnType<typeof reader.read> =>
    reader.read().catch((error: unknown) => Promise.reject(unreadable(error)));
  let done = 0;
  try {
    for (let part = await read(); !part.done; part = await read()) {
      yield part.value;
      onDone((done += part.value.length), blob.size);
    }
  } finally {
    // A stream that failed says so again.
    await reader.cancel().catch(() => undefined);
  }
}
