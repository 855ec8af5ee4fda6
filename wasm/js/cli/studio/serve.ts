// A static server for the built page, on this machine only. `sconce studio` and the tests use it. It
// sends the headers that the page is made for, so that a page that works here works wherever they are
// sent. They allow no script but the page's own and WebAssembly, and isolate the page from other
// origins, which shared memory needs.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, posix } from "node:path";
import { folderSite, type Site } from "./site.js";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
};

const HEADERS = {
  "Content-Security-Policy":
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; " +
    "img-src 'self' data: blob:; style-src 'self'; connect-src 'self' blob: data:; " +
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
};

/** The path that a request names; undefined where it cannot be one of a file. */
function pathOf(requested: string): string | undefined {
  let path;
  try {
    path = posix.normalize(decodeURIComponent(requested.split(/[?#]/, 1)[0]!));
  } catch {
    return undefined; // a percent sign that escapes no byte
  }
  return path.startsWith("/") && !path.includes("..") && !path.includes("\0") ? path : undefined;
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { ...HEADERS, "Content-Type": "text/plain" }).end(`${why}\n`);
}

/** True if the browser that asks has this version, by its list of tags. */
function isKnown({ headers }: IncomingMessage, tag: string): boolean {
  const tags = headers["if-none-match"]?.split(",").map((known) => known.trim()) ?? [];
  return tags.some((known) => known === "*" || known.replace(/^W\//, "") === tag);
}

function answer(site: Site, request: IncomingMessage, response: ServerResponse): void {
  const { method, url = "/" } = request;
  if (method !== "GET" && method !== "HEAD") return refuse(response, 405, "only GET and HEAD");
  const path = pathOf(url);
  const file = path === undefined ? undefined : site(path);
  if (!file) return refuse(response, 404, "not found");
  const tag = `"${file.version}"`;
  const headers = { ...HEADERS, ETag: tag };
  if (isKnown(request, tag)) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, {
    ...headers,
    "Content-Type": TYPES[extname(file.name)] ?? "application/octet-stream",
    "Content-Length": file.size,
  });
  if (method === "HEAD") {
    response.end();
    return;
  }
  file
    .open()
    .on("error", () => response.destroy())
    .pipe(response);
}

/** A server that listens. */
export interface Server {
  url: string;
  /** Ends the connections that are open, too. */
  close(): void;
}

/**
 * Serves a folder, or a site, once it resolves; port 0 is any free one. Rejects when the port is
 * taken.
 */
export function serve(what: string | Site, port = 0): Promise<Server> {
  const site = typeof what === "string" ? folderSite(what) : what;
  const server = createServer((request, response) => answer(site, request, response));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({ url: `http://127.0.0.1:${taken}/`, close });
    });
  });
}

/** The same on a port that would be nice to have: another one when it is taken. */
export function serveAt(what: string | Site, wanted: number): Promise<Server> {
  return serve(what, wanted).catch(() => serve(what));
}
