// Files of Node, Deno and Bun, read by descriptor.
import { messageOf, SconceError } from "../base/errors.js";
import { hostModule } from "../base/host.js";
import type { OpenFile, RandomAccess } from "../types/index.js";

type FileSystem = typeof import("node:fs");

/** The host's file system, or an error that names the file and says what to do without one. */
export function fileSystem(path: string, hint = "Pass the file's bytes or a Blob."): FileSystem {
  const fs = hostModule<FileSystem>("node:fs");
  if (fs) return fs;
  throw new SconceError("io", `there is no file system here for ${path}`, hint);
}

/** A failed call of the file system in one line. */
export const fileReason = (error: unknown): string => messageOf(error).split(", ")[0]!;

/** Reads as many bytes as `target` has. */
function fill(
  fs: FileSystem,
  from: number,
  offset: number,
  target: Uint8Array,
  name: string,
): void {
  const { length } = target;
  for (let done = 0; done < length;) {
    const count = fs.readSync(from, target, done, length - done, offset + done);
    if (count === 0) {
      throw new SconceError(
        "io",
        `${name} became shorter while it was read`,
        "Leave the file alone while it is in use.",
      );
    }
    done += count;
  }
}

/** A file that can be read into memory that is there already. */
export abstract class FileSource implements RandomAccess {
  abstract readonly size: number;
  abstract readInto(offset: number, target: Uint8Array): void;

  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.readInto(offset, bytes);
    return bytes;
  }
}

/** A file by its path. */
export class PathSource extends FileSource {
  readonly size: number;
  private readonly fs: FileSystem;
  private readonly descriptor: number;
  private readonly writtenMs: number;

  constructor(private readonly path: string) {
    super();
    this.fs = fileSystem(path);
    try {
      // Looked at first: opening a FIFO waits for its writer.
      if (!this.fs.statSync(path).isFile())
        throw new SconceError("io", `${path} is not a file`, "Pass the path of a file.");
      this.descriptor = this.fs.openSync(path, "r");
    } catch (error) {
      if (error instanceof SconceError) throw error;
      throw new SconceError(
        "io",
        `cannot open ${path}: ${fileReason(error)}`,
        "Check the path and its permissions.",
      );
    }
    const { size, mtimeMs } = this.fs.fstatSync(this.descriptor);
    this.size = size;
    this.writtenMs = mtimeMs;
  }

  /** A new array for each read takes longer than the read. */
  readInto(offset: number, target: Uint8Array): void {
    fill(this.fs, this.descriptor, offset, target, this.path);
    this.mustBeAsOpened();
  }

  /** Weights are read late: those of another version would give wrong numbers, and no error. */
  private mustBeAsOpened(): void {
    const { size, mtimeMs } = this.fs.fstatSync(this.descriptor);
    if (size === this.size && mtimeMs === this.writtenMs) return;
    throw new SconceError(
      "io",
      `${this.path} was written to after it was opened`,
      "Open it again. To replace a file that is in use, write another one and rename it.",
    );
  }

  close(): void {
    this.fs.closeSync(this.descriptor);
  }
}

const HANDLE = "the FileHandle";

/** A file that the caller has opened and will close. */
export class HandleSource extends FileSource {
  readonly size: number;
  private readonly fs = fileSystem(HANDLE);

  constructor(private readonly handle: OpenFile) {
    super();
    const stats = this.fs.fstatSync(this.descriptor);
    if (!stats.isFile())
      throw new SconceError("io", `${HANDLE} is not that of a file`, "Open a regular file.");
    this.size = stats.size;
  }

  /** Looked up for each read: the number of a closed file may be that of another by now. */
  private get descriptor(): number {
    const { fd } = this.handle;
    if (fd >= 0) return fd;
    const hint = "Keep it open until the program is written, or pass the path.";
    throw new SconceError("io", `${HANDLE} was closed`, hint);
  }

  readInto(offset: number, target: Uint8Array): void {
    fill(this.fs, this.descriptor, offset, target, HANDLE);
  }
}
