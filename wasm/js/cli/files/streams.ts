// The standard input and output as files: "-", /dev/stdin, /dev/stdout. Input is read whole, once,
// and kept: a file can be asked for any of its ranges, a pipe cannot.
import { fstatSync, readSync, realpathSync } from "node:fs";
import { devNull } from "node:os";
import { isatty } from "node:tty";
import { SconceError } from "../../base/errors.js";
import { isJson, setMode } from "../print/terminal.js";
import { EXIT, UsageError } from "../usage.js";

/** The name that stands for the standard input and the standard output. */
export const STREAM = "-";
const NAMED = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/;

/** The names of the streams in messages. */
const INPUT = "the standard input";
/** The words for the standard output in messages. */
export const OUTPUT = "the standard output";

// --- Input -----------------------------------------------------------------------------------------

/** More does not fit into the memory of the module. */
const INPUT_MAX = 2 ** 32 - 1;
const PIECE = 1 << 20;
/** How long to wait for a writer whose pipe is empty and does not block. */
const PAUSE_MS = 5;

const hasCode = (error: unknown, code: string): boolean =>
  (error as NodeJS.ErrnoException).code === code;

function readPiece(descriptor: number, into: Uint8Array): number {
  for (;;) {
    try {
      return readSync(descriptor, into);
    } catch (error) {
      if (hasCode(error, "EOF")) return 0;
      if (!hasCode(error, "EAGAIN")) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** All that comes from a descriptor; an error beyond `most` bytes. */
export function readAll(descriptor: number, most = INPUT_MAX): Uint8Array {
  const pieces: Uint8Array[] = [];
  // A pipe gives less at once than a piece has room for: it is filled before there is another.
  let piece = new Uint8Array(PIECE);
  let [size, filled] = [0, 0];
  for (;;) {
    const count = readPiece(descriptor, piece.subarray(filled));
    if (count === 0) break;
    [size, filled] = [size + count, filled + count];
    if (size > most)
      throw new SconceError(
        "limit",
        `${INPUT} has more than ${most} bytes`,
        "Write it to a file, and name the file.",
      );
    if (filled < PIECE) continue;
    pieces.push(piece);
    [piece, filled] = [new Uint8Array(PIECE), 0];
  }
  return joined([...pieces, piece.subarray(0, filled)], size);
}

/** The descriptor that a path means, unless that is a regular file. */
function descriptorOf(path: string): number | undefined {
  if (path === STREAM) return 0;
  const number = path === "/dev/stdin" ? "0" : NAMED.exec(path)?.[1];
  if (number === undefined) return undefined;
  try {
    return fstatSync(Number(number)).isFile() ? undefined : Number(number);
  } catch {
    return undefined;
  }
}

/** True if a path is a stream to read, not a file. */
export const isInputStream = (path: string): boolean => descriptorOf(path) !== undefined;

const kept = new Map<number, Uint8Array>();

/** The bytes of a stream; undefined of a path that is a file. */
export function streamBytes(path: string): Uint8Array | undefined {
  const descriptor = descriptorOf(path);
  if (descriptor === undefined) return undefined;
  if (isatty(descriptor))
    throw new UsageError(
      `${path} is ${INPUT}, which is a terminal`,
      `Pipe a file into it, cat model.pt2 | sconce ..., or name a file.`,
    );
  const bytes = kept.get(descriptor) ?? readAll(descriptor);
  kept.set(descriptor, bytes);
  return bytes;
}

/** A file as a source, or all of a stream. */
export const sourceOf = (path: string): Uint8Array | { readonly path: string } =>
  streamBytes(path) ?? { path };

/** A usage error where two flags want the same stream: what one reads is gone for the other. */
export function claimInputs(paths: readonly string[]): void {
  const seen = new Set<number>();
  for (const path of paths) {
    const descriptor = descriptorOf(path);
    if (descriptor === undefined) continue;
    if (seen.has(descriptor))
      throw new UsageError(
        `${path} is named twice, and ${INPUT} can be read once`,
        "Name a file for one of the two.",
      );
    seen.add(descriptor);
  }
}

// --- Output ----------------------------------------------------------------------------------------

/** True if a path means the standard output. */
export const isOutputStream = (path: string): boolean =>
  path === STREAM || path === "/dev/stdout" || NAMED.exec(path)?.[1] === "1";

/** True if a path discards what is written to it. */
export function isNowhere(path: string): boolean {
  try {
    return realpathSync(path) === devNull;
  } catch {
    return path === devNull;
  }
}

/**
 * Takes the standard output for the one of these files that goes there: text goes to the standard
 * error from then on. A usage error where two would, or a terminal would get bytes.
 */
export function claimOutputs(paths: readonly string[], isBinary: boolean): void {
  const named = paths.filter(isOutputStream);
  if (named.length === 0) return;
  const [path] = named;
  if (named.length > 1)
    throw new UsageError(`two of the files would be written to ${OUTPUT}: name a file for one`);
  if (isJson())
    throw new UsageError(
      `--json and ${path} both write to ${OUTPUT}`,
      "Name a file, or leave out --json.",
    );
  if (isBinary && isatty(1))
    throw new UsageError(
      `${path} is ${OUTPUT}, and a terminal cannot show a binary file`,
      "Name a file, or pipe it into another program.",
    );
  setMode({ isOutputTaken: true });
}

/** Writes to the standard output. A reader that leaves early has a part of the file: the command fails. */
export function writeOutput(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => {
      if (error && !hasCode(error, "EPIPE")) return reject(error);
      if (error) process.once("exit", () => (process.exitCode = EXIT.failed));
      resolve();
    });
  });
}
