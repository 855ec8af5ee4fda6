// The files that the server may send: those of a folder, or those of an archive in memory.
import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { join, posix } from "node:path";
import { Readable } from "node:stream";
import type { Files } from "./archive.js";

/** A file to send. */
export interface Found {
  /** Its name, whose ending tells the type. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** Another text when the contents are others; without quotes. */
  readonly version: string;
  open(): Readable;
}

/** Finds a file by its path, which is normalized and begins with a slash. */
export type Site = (path: string) => Found | undefined;

function fileAt(file: string): Found | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats?.isFile()) return undefined;
  const { size, mtimeMs } = stats;
  const version = `${size.toString(16)}-${Math.round(mtimeMs * 1000).toString(16)}`;
  return { name: file, size, version, open: () => createReadStream(file) };
}

/** A site of the files in a folder. */
export function folderSite(folder: string): Site {
  return (path) => fileAt(join(folder, path)) ?? fileAt(join(folder, path, "index.html"));
}

/** A site of the files in an archive. */
export function archiveSite(files: Files): Site {
  const find = (name: string): Found | undefined => {
    const bytes = files.get(name);
    if (!bytes) return undefined;
    const version = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
    return { name, size: bytes.length, version, open: () => Readable.from([bytes]) };
  };
  return (path) => find(path) ?? find(posix.join(path, "index.html"));
}

const MODULE = /^\/assets\/(relaxed-threads|relaxed|threads|sconce)-[\w-]{8}\.wasm$/;

/** The same site with the flavours of the module, from a folder, where its own copies were left out. */
export function withModules(site: Site, folder: string): Site {
  const moduleAt = (path: string): ReturnType<Site> => {
    const name = MODULE.exec(path)?.[1];
    return name === undefined ? undefined : fileAt(join(folder, `${name}.wasm`));
  };
  return (path) => site(path) ?? moduleAt(path);
}

/** The same site with another one in a folder, which is opened when somebody asks for it. */
export function withFolder(site: Site, folder: string, open: () => Site): Site {
  let inside: Site | undefined;
  return (path) => {
    if (!path.startsWith(`${folder}/`)) return site(path);
    inside ??= open();
    return inside(path.slice(folder.length));
  };
}
