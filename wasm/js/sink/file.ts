// Files of Node, Deno and Bun that are written. A file by path is replaced once it is complete, so
// that what fails leaves what was there, and a program may be written over the file it came from.
import { badArgument } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { hostModule } from "../base/host.js";
import type { Outlet } from "./outlet.js";
import { fileReason, fileSystem } from "../source/file.js";

type FileSystem = typeof import("node:fs");

function cannotWrite(path: string, why: string, cause?: unknown): SconceError {
  const error = new SconceError(
    "io",
    `cannot write ${path}: ${why}`,
    "Name a file in a folder that exists, on a disk with room, or check its permissions.",
  );
  if (cause !== undefined) error.cause = cause;
  return error;
}

const NO_FILES =
  "Pass a FileSystemFileHandle or a WritableStream, or download what toBlob() gives.";

/** The real path of the file, as a link stays one, and its permissions if it exists. */
function placeOf(fs: FileSystem, path: string): { place: string; mode?: number } {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  if (!stats) return { place: path };
  if (stats.isFile()) return { place: fs.realpathSync(path), mode: stats.mode };
  throw cannotWrite(path, "it exists and is not a regular file");
}

let count = 0;

/** Writes a temporary file in the same folder, and renames it at the end. */
export async function toPathOutlet(path: string): Promise<Outlet> {
  if (path === "") throw badArgument("the path of writeTo()", "the path of a file", path);
  const fs = fileSystem(path, NO_FILES);
  const files = fs.promises;
  const asIo = async <T>(act: () => T): Promise<Awaited<T>> => {
    try {
      return await act();
    } catch (error) {
      throw error instanceof SconceError ? error : cannotWrite(path, fileReason(error), error);
    }
  };
  const { place, mode } = await asIo(() => placeOf(fs, path));
  const temporary = `${place}.${hostModule<NodeJS.Process>("node:process")!.pid}.${count++}.tmp`;
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
