// Files kept in the Cache Storage of the origin, by their addresses. An entry is written only when
// its file has come whole, and says how long it is.
import type { HostResponse, HostUrl } from "../types/host.js";
import { badArgument } from "../base/check.js";
import { messageOf, SconceError } from "../base/errors.js";
import type { CachedFile, FetchResponse } from "../types/index.js";
import { absoluteUrl } from "./address.js";

const NAME = "sconce-files";
const LENGTH = "content-length";
const STORED = "x-stored";
/** The length that the server gave, which differs for compressed answers. */
export const SENT_LENGTH = "x-sent-length";

type Log = ((severity: "note" | "warning" | "error", text: string) => void) | undefined;

const storage = (): CacheStorage | undefined => {
  try {
    return (globalThis as { caches?: CacheStorage }).caches;
  } catch {
    // Frames in a sandbox have none, and throw when asked.
    return undefined;
  }
};

function noStorage(cause?: unknown): SconceError {
  const error = new SconceError(
    "state",
    "files cannot be kept here: there is no Cache Storage",
    "Leave out 'cache', or keep the file yourself. Pages have a Cache Storage over https, and on localhost.",
  );
  if (cause !== undefined) error.cause = cause;
  return error;
}

async function open(): Promise<Cache> {
  const found = storage();
  if (!found) throw noStorage();
  try {
    return await found.open(NAME);
  } catch (error) {
    throw noStorage(error);
  }
}

/** Throws where the file of an address cannot be kept. */
export function mustCache(url: string): void {
  if (!storage()) throw noStorage();
  if (/^https?:/i.test(url)) return;
  throw badArgument("an address whose file is kept", "one that begins with https: or http:", url);
}

const withoutHash = (url: string): string => absoluteUrl(url).split("#")[0]!;

/** The kept file of an address. */
export async function keptFile(url: string): Promise<HostResponse | undefined> {
  const cache = await open();
  return cache.match(withoutHash(url), { ignoreVary: true });
}

/** Keeps a file that has come whole. A file that there is no room for is still the caller's. */
export async function keepFile(
  url: string,
  file: Uint8Array<ArrayBuffer>,
  { headers }: Pick<FetchResponse, "headers">,
  onLog: Log,
): Promise<void> {
  const kept = new Headers({ [LENGTH]: String(file.length), [STORED]: new Date().toISOString() });
  for (const [name, as] of [
    ["content-type", "content-type"],
    ["etag", "etag"],
    ["last-modified", "last-modified"],
    [LENGTH, SENT_LENGTH],
  ] as const) {
    const value = headers.get(name);
    if (value) kept.set(as, value);
  }
  try {
    const cache = await open();
    await cache.put(withoutHash(url), new Response(file, { headers: kept }));
  } catch (error) {
    onLog?.("warning", `${url} could not be kept: ${messageOf(error)}`);
  }
}

/**
 * The files that were fetched with `cache` and are kept in this origin's Cache Storage, in the
 * order in which they were stored. The list is empty if there is no Cache Storage.
 *
 * @example
 * for (const { url, bytes, date } of await cachedFiles()) console.log(url, bytes, date);
 */
export async function cachedFiles(): Promise<CachedFile[]> {
  if (!storage()) return [];
  const cache = await open();
  const files: CachedFile[] = [];
  for (const { url } of await cache.keys()) {
    const kept = await cache.match(url, { ignoreVary: true });
    if (!kept) continue;
    const { headers } = kept;
    const date = new Date(headers.get(STORED) ?? 0);
    files.push({ url, bytes: Number(headers.get(LENGTH)), date });
  }
  return files;
}

/**
 * Removes the kept file of an address, or all kept files. Gives the number of removed files.
 *
 * @example
 * await forgetFiles("models/face.pt2");
 */
export async function forgetFiles(url?: string | HostUrl): Promise<number> {
  if (!storage()) return 0;
  const cache = await open();
  const wanted = url === undefined ? undefined : withoutHash(String(url));
  const all = (await cache.keys()).map((request) => request.url);
  const found = wanted === undefined ? all : all.filter((one) => one === wanted);
  for (const one of found) await cache.delete(one, { ignoreVary: true });
  return found.length;
}
