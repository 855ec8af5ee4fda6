// Files of Node, Deno and Bun that are written. A file by path is replaced once it is complete, so
// that what fails leaves what was there, and a program may be written over the file it came from.
import { badArgument } from "../base/check.js";
import { SconceError, withCause } from "../base/errors.js";
import { hostModule } from "../base/host.js";
import type { Outlet } from "./outlet.js";
import { fileReason, fileSystem } from "../source/file.js";

type FileSystem = typeof import("node:fs");

function cannotWrite(path: string, cause: unknown): SconceError {
  const error = new SconceError(
    "io",
    `cannot write ${path}: ${fileReason(cause)}`,
    "Name a file in a folder that exists, on a disk with room, or check its permissions.",
  );
  return withCause(error, cause);
}

const NO_FILES =
  "Pass a FileSystemFileHandle or a WritableStream, or download what toBlob() gives.";

/** A file that is written under another name in its folder, and renamed once it is whole. */
export interface Replacement {
  /** The real path, because a link stays a link. */
  readonly place: string;
  readonly temporary: string;
  /** The permissions of the file that is replaced. */
  readonly mode?: number;
}

let count = 0;

/** The names for replacing a file. Fails where something other than a regular file is there. */
export function replacementOf(fs: FileSystem, path: string): Replacement {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  if (stats && !stats.isFile())
    throw new SconceError(
      "io",
      `cannot write ${path}: it exists and is not a regular file`,
      "Name a new file, or a regular one to be replaced.",
    );
  const place = stats ? fs.realpathSync(path) : path;
  const temporary = `${place}.${hostModule<NodeJS.Process>("node:process")!.pid}.${count++}.tmp`;
  return { place, temporary, ...(stats && { mode: stats.mode }) };
}

/** Writes a temporary file in the same folder, and renames it at the end. */
export async function toPathOutlet(path: string): Promise<Outlet> {
  if (path === "") throw badArgument("the path of writeTo()", "the path of a file", path);
  const fs = fileSystem(path, NO_FILES);
  const files = fs.promises;
  const asIo = async <T>(act: () => T): Promise<Awaited<T>> => {
    try {
      return await act();
    } catch (error) {
      throw error instanceof SconceError ? error : cannotWrite(path, error);
    }
  };
  const { place, temporary, mode } = await asIo(() => replacementOf(fs, path));
  const handle = await asIo(() => files.open(temporary, "wx"));
  let isOpen = true;
  const end = async (): Promise<void> => {
    if (isOpen) await handle.close();
    isOpen = false;
  };
  return {
    write: (piece) => asIo(() => handle.appendFile(piece)),
    close: () =>
      asIo(async () => {
        if (mode !== undefined) await handle.chmod(mode);
        await end();
        await files.rename(temporary, place);
      }),
    abort: () =>
      end()
        .then(() => files.rm(temporary, { force: true }))
        .catch(() => undefined),
  };
}

/** Adds a piece at the place where a FileHandle is. Its `write` may write a part of it only. */
export function appendTo(handle: object, piece: Uint8Array): Promise<void> {
  return (handle as import("node:fs/promises").FileHandle).appendFile(piece);
}
