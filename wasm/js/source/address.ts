// Strings and URLs: which of them are paths of files here, and which are addresses.
import { badArgument } from "../base/check.js";
import { hostModule } from "../base/host.js";

const isPage = (): boolean => typeof document !== "undefined";

/** Are there files here that a script opens by path? A page of Electron has both, and is a page. */
const hasFiles = (): boolean => !isPage() && hostModule("node:fs") !== undefined;

/** A URL as this script's page sees it; itself where there is no page. */
export function absoluteUrl(url: string): string {
  const base = (globalThis as { location?: { href: string } }).location?.href;
  return URL.canParse(url, base) ? new URL(url, base).href : url;
}

const SCHEME = /^(https?|blob|data):/i;

/** The path of a "file:" URL; other text as it is. */
function plainPath(text: string, what: string): string {
  if (!/^file:/i.test(text)) return text;
  try {
    return hostModule<typeof import("node:url")>("node:url")!.fileURLToPath(text);
  } catch {
    throw badArgument(what, "the URL of a file on this machine", text);
  }
}

/** A path as a string. */
export function pathOf(path: string | URL, what: string): string {
  return typeof path === "string" && !hasFiles() ? path : plainPath(String(path), what);
}

export type Located = { readonly path: string } | { readonly url: string };

/** The absolute form of an address. */
export function locateUrl(url: string | URL, what: string): Located {
  const text = String(url);
  if (hasFiles() && /^file:/i.test(text)) return { path: plainPath(text, what) };
  const address = absoluteUrl(text);
  if (URL.canParse(address)) return { url: address };
  throw badArgument(what, "an absolute URL, as there is no page here", text);
}

/** A string or a URL as the path or the address that it is here. */
export function locate(place: string | URL, what: string): Located {
  const text = String(place);
  if (hasFiles() && !SCHEME.test(text)) return { path: plainPath(text, what) };
  return locateUrl(place, what);
}
