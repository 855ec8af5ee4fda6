// Files of this package that lie in the folder of its scripts: the module and the worker. A bundler may move or
// copy them, and a program compiled into one file has none, so Node looks where people put them.
import { hostModule } from "./base/host.js";

type FileSystem = typeof import("node:fs");
type NodePath = typeof import("node:path");
type NodeUrl = typeof import("node:url");

/**
 * The address of this script; undefined in a CommonJS bundle, whatever the types say. It has a name so
 * that bundlers do not take `new URL(name, here)` for the address of an asset.
 */
const script = import.meta.url as string | undefined;

/** Vite 5 to 7 serve packages from a cache while developing, and leave the files next to them behind. */
const VITE_CACHE = /\/node_modules\/\.vite\/deps\/[^/]*$/;

/** Does the script lie in a cache, apart from the package's other files? */
export const isCached = script !== undefined && VITE_CACHE.test(script);

/** The address that the package's other files are relative to. */
export const here = script?.replace(VITE_CACHE, "/node_modules/sconce/dist/index.js");

/** The address of a file in the folder of this script; undefined where the script has no address. */
export const nextToScript = (name: string): string | undefined =>
  here !== undefined && URL.canParse(name, here) ? new URL(name, here).href : undefined;

/**
 * Gives the addresses of files in the folder of this script, by a word for each. The expressions of
 * `literals` are for bundlers, which may put relative addresses in their place. Undefined in a
 * CommonJS bundle.
 */
export const addressesOf =
  <Word extends string>(
    files: Readonly<Record<Word, string>>,
    literals: Readonly<Record<Word, () => URL>>,
  ) =>
  (word: Word): string | undefined => {
    if (isCached) return nextToScript(files[word]);
    try {
      return literals[word]().href;
    } catch {
      return undefined; // its scripts have no address
    }
  };

/** Is this a host where addresses of files can be read? */
export const hasFileSystem = (): boolean => hostModule<FileSystem>("node:fs") !== undefined;

/** The folders that a program's files may be in: of its script, of its binary, the working one. */
function folders(path: NodePath): string[] {
  const { argv, execPath, cwd } = globalThis.process;
  const files = [argv?.[1], execPath].filter((file) => file !== undefined && file !== "");
  return [...new Set([...files.map((file) => path.dirname(file!)), cwd()])];
}

/** The folder and all above it. */
function* upwards(path: NodePath, folder: string): Generator<string> {
  let current = folder;
  for (; current !== path.dirname(current); current = path.dirname(current)) yield current;
  yield current;
}

/** Paths that the installed package's file may have for a script in this folder. */
function* installed(path: NodePath, folder: string, name: string): Generator<string> {
  for (const above of upwards(path, folder))
    yield path.join(above, "node_modules", "sconce", "dist", name);
}

function isFile(fs: FileSystem, file: string): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false; // it is not there, or nobody may look
  }
}

/**
 * The address of a file of this package on a host with files: where `expected` says, else next to the
 * program, else in the package installed for it. Undefined where it is in none of these places.
 */
export function locateAsset(name: string, expected: string | undefined): string | undefined {
  const fs = hostModule<FileSystem>("node:fs")!;
  const path = hostModule<NodePath>("node:path")!;
  const { fileURLToPath, pathToFileURL } = hostModule<NodeUrl>("node:url")!;
  if (expected?.startsWith("file:") && isFile(fs, fileURLToPath(expected))) return expected;
  const places = folders(path);
  const candidates = [
    ...places.map((folder) => path.join(folder, name)),
    ...places.flatMap((folder) => [...installed(path, folder, name)]),
  ];
  const found = candidates.find((file) => isFile(fs, file));
  return found && pathToFileURL(found).href;
}
