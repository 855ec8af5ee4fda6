// Files that the commands read and write. It owns one promise: a command that fails or is stopped
// leaves what was there before. Outputs are written under temporary names in the same folders and
// renamed together once all are whole; no output replaces an input, a folder or a device. Bytes for
// the standard output go when all files are whole.
import fs, {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  writeSync,
  type Stats,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { SconceError } from "../../base/errors.js";
import {
  isInputStream,
  isNowhere,
  isOutputStream,
  OUTPUT,
  streamBytes,
  writeOutput,
} from "./streams.js";
import { replacementOf, type Replacement } from "../../sink/file.js";
import { UsageError } from "../usage.js";

/** The reason that the file system gives for an error, without the path. */
export function reason(error: unknown): string {
  return (error as Error).message.replace(/^([A-Z]+: [^,]+), .*$/s, "$1");
}

const ELSEWHERE = "Name another place, or check its permissions.";
/** By what the file system says. */
const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: "Make room on the disk, or name a place on another one.",
  EDQUOT: "Your share of the disk is used up: make room, or name a place on another disk.",
  EFBIG: "No file here may be that large: name a place on another disk, or see ulimit -f.",
  EROFS: "This disk can only be read: name a place on another one.",
  ENOENT: "Check the path: a folder in it does not exist.",
  ENOTDIR: "Check the path: a file stands where a folder should be.",
  ENAMETOOLONG: "Give it a shorter name.",
  EMFILE: "Too many files are open: close other programs, or see ulimit -n.",
  EBUSY: "Another program uses it: close that, or name another place.",
  EIO: "The disk fails: check it, or name a place on another one.",
};

function cannotWrite(path: string, cause: unknown): SconceError {
  const why = typeof cause === "string" ? cause : reason(cause);
  const code = /^([A-Z0-9]+): /.exec(why)?.[1] ?? "";
  const name = isOutputStream(path) ? OUTPUT : path;
  return new SconceError("io", `cannot write ${name}: ${why}`, HINTS[code] ?? ELSEWHERE);
}

/** The facts of a path; undefined where there is no such file, or a folder above it cannot be read. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** True if the file has what is written already, or if there is no such file. */
export async function holds(
  path: string,
  write: (writer: Writer) => Promise<void>,
): Promise<boolean> {
  const size = statsOf(path)?.isFile() ? statsOf(path)!.size : undefined;
  if (size === undefined) return true;
  const file = openSync(path, "r");
  let at = 0;
  let isSame = true;
  try {
    await write(async (bytes) => {
      const there = new Uint8Array(isSame ? bytes.length : 0);
      if (isSame) isSame = readSync(file, there, 0, there.length, at) === there.length;
      isSame &&= Buffer.compare(there, bytes) === 0;
      at += bytes.length;
    });
  } finally {
    closeSync(file);
  }
  return isSame && at === size;
}

/** True if a path is not a file of the disk: a stream, or a place that discards what is written. */
const isPlaceless = (path: string): boolean => isOutputStream(path) || isNowhere(path);

/**
 * Reads a regular file or the standard input whole: a FIFO would wait for its writer, a device might
 * never end.
 */
export function readWhole(path: string): Uint8Array {
  const streamed = streamBytes(path);
  if (streamed) return streamed;
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file`);
  return readFileSync(path);
}

/** The path without links, also of what does not exist yet: equal ones are the same file. */
export function realOf(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync.native(whole);
  } catch {
    return dirname(whole) === whole ? whole : join(realOf(dirname(whole)), basename(whole));
  }
}

/** A usage error if an output is one of the inputs, however either is spelt. */
export function keepInputs(inputs: readonly string[], output: string): void {
  if (isPlaceless(output)) return;
  const real = realOf(output);
  if (inputs.some((path) => !isInputStream(path) && realOf(path) === real))
    throw new UsageError(`${output} would be overwritten: name another output`);
}

/** A path that is of a folder: one is there, or it ends in a slash. */
export function isFolder(path: string): boolean {
  if (isOutputStream(path)) return false;
  return path.endsWith("/") || (statsOf(path)?.isDirectory() ?? false);
}

/** True if a regular file is at the path. */
export const isFile = (path: string): boolean => statsOf(path)?.isFile() ?? false;

/** An output that a flag names; in a folder it is called like the file that it is about. */
export function outputAt(path: string, subject: string, extension: string): string {
  if (!isFolder(path)) return path;
  return join(path, basename(subject).replace(/\.[^.]+$/, "") + extension);
}

/** A usage error if two outputs are one file, or one is an input. */
export function keepApart(inputs: readonly string[], outputs: readonly string[]): void {
  const places = new Set<string>();
  for (const output of outputs.filter((path) => !isPlaceless(path))) {
    keepInputs(inputs, output);
    const real = realOf(output);
    if (places.has(real)) throw new UsageError(`two of the files would be written to ${output}`);
    places.add(real);
  }
}

/** Throws where an output cannot be written, before there is anything to write. */
export function checkPlace(path: string): void {
  if (isPlaceless(path)) return;
  replacing(path);
  try {
    // The point is in folders only.
    accessSync(`${dirname(resolve(path))}/.`, constants.W_OK);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** Makes a folder with all above it. Node's own recursive way never returns where /proc refuses. */
function makeFolder(path: string, made: string[]): void {
  const missing = [resolve(path)];
  while (!statsOf(missing[0]!)) missing.unshift(dirname(missing[0]!));
  const existing = missing.shift()!;
  if (!statsOf(existing)!.isDirectory()) throw new Error(`${existing} is not a folder`);
  for (const folder of missing) {
    mkdirSync(folder);
    made.push(folder);
  }
}

/** Runs `body` with these folders made; those that it leaves empty go again. */
export async function inFolders<T>(folders: readonly string[], body: () => Promise<T>): Promise<T> {
  const made: string[] = [];
  try {
    for (const folder of folders) {
      try {
        makeFolder(folder, made);
      } catch (error) {
        throw cannotWrite(folder, error);
      }
    }
    return await body();
  } finally {
    for (const folder of made.reverse()) {
      try {
        rmdirSync(folder);
      } catch {
        // It has files in it, as it should.
      }
    }
  }
}

/** Takes a file's bytes, piece by piece. */
export type Writer = (chunk: Uint8Array) => Promise<void>;

interface Output {
  path: string;
  write: (writer: Writer) => Promise<void>;
}

/** The names for replacing an output. */
function replacing(path: string): Replacement {
  try {
    return replacementOf(fs, path);
  } catch (error) {
    throw error instanceof SconceError ? error : cannotWrite(path, error);
  }
}

/** Signals are heard between turns of the loop only. */
const nextTurn = (): Promise<void> => setImmediate();

async function writeTemporary(
  { path, write }: Output,
  { temporary, mode }: Replacement,
): Promise<void> {
  let descriptor: number | undefined;
  let refused: unknown;
  try {
    const open = (descriptor = openSync(temporary, "wx"));
    if (mode !== undefined) fchmodSync(open, mode);
    await write(async (chunk) => {
      try {
        for (let done = 0; done < chunk.length;) done += writeSync(open, chunk, done);
      } catch (error) {
        refused = error;
        throw error;
      }
      await nextTurn();
    });
  } catch (error) {
    // The caller of the writer wraps its error. The system's own error is the one that matters.
    if (refused !== undefined) throw cannotWrite(path, refused);
    throw error instanceof SconceError ? error : cannotWrite(path, error);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The pieces of an output that is no file: they are kept until all files are whole. */
async function collected({ path, write }: Output): Promise<Uint8Array[]> {
  const isKept = isOutputStream(path);
  const pieces: Uint8Array[] = [];
  await write(async (chunk) => {
    if (isKept) pieces.push(chunk.slice());
    await nextTurn();
  });
  return pieces;
}

async function writePieces(pieces: readonly Uint8Array[]): Promise<void> {
  try {
    for (const piece of pieces) await writeOutput(piece);
  } catch (error) {
    throw cannotWrite("-", error);
  }
}

const EXIT_OF_SIGNAL = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
const SIGNALS = Object.keys(EXIT_OF_SIGNAL) as (keyof typeof EXIT_OF_SIGNAL)[];

/** Writes all of the files, or none. Listens to signals only meanwhile: elsewhere they end us at once. */
export async function writeFiles(outputs: readonly Output[]): Promise<void> {
  const renames = new Map<string, string>();
  const clean = (): void => {
    for (const temporary of renames.values()) if (statsOf(temporary)) rmSync(temporary);
  };
  const stop = (signal: keyof typeof EXIT_OF_SIGNAL): void => {
    clean();
    process.exit(EXIT_OF_SIGNAL[signal]);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    const streamed: Uint8Array[] = [];
    for (const output of outputs) {
      if (isPlaceless(output.path)) {
        streamed.push(...(await collected(output)));
        continue;
      }
      const names = replacing(output.path);
      const place = realOf(names.place);
      if (renames.has(place)) throw cannotWrite(output.path, "another output goes there");
      renames.set(place, names.temporary);
      await writeTemporary(output, names);
    }
    await writePieces(streamed);
    for (const [place, temporary] of renames) {
      try {
        renameSync(temporary, place);
      } catch (error) {
        throw cannotWrite(place, error);
      }
    }
  } finally {
    clean();
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}
