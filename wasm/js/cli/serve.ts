// A static server for the built page, on this machine only. Sends the headers the page is made for,
// so what works here works wherever they are sent: no script but its own and WebAssembly, and
// isolated from other origins, which shared memory needs. `sconce studio` and the tests use it.
import { createReadStream, statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, posix } from "node:path";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".svg": "image/svg+xml",
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

interface Found {
  path: string;
  size: number;
}

/** What is served: a folder, and the module where the folder's own copy of it was left out. */
export interface Served {
  folder: string;
  module?: string;
}

const MODULE = /^\/assets\/sconce-[\w-]{8}\.wasm$/;

/** The file that a request's path names inside the folder; a folder stands for its index.html. */
function find({ folder, module }: Served, requested: string): Found | undefined {
  let path;
  try {
    path = posix.normalize(decodeURIComponent(requested.split(/[?#]/, 1)[0]!));
  } catch {
    return undefined; // a percent sign that escapes nothing
  }
  if (!path.startsWith("/") || path.includes("..") || path.includes("\0")) return undefined;
  const files = [path, join(path, "index.html")].map((name) => join(folder, name));
  if (module !== undefined && MODULE.test(path)) files.push(module);
  for (const file of files) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats?.isFile()) return { path: file, size: stats.size };
  }
  return undefined;
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { ...HEADERS, "Content-Type": "text/plain" }).end(`${why}\n`);
}

function answer(served: Served, request: IncomingMessage, response: ServerResponse): void {
  const { method, url = "/" } = request;
  if (method !== "GET" && method !== "HEAD") return refuse(response, 405, "only GET and HEAD");
  const file = find(served, url);
  if (!file) return refuse(response, 404, "not found");
  response.writeHead(200, {
    ...HEADERS,
    "Content-Type": TYPES[extname(file.path)] ?? "application/octet-stream",
    "Content-Length": file.size,
  });
  if (method === "HEAD") {
    response.end();
    return;
  }
  createReadStream(file.path)
    .on("error", () => response.destroy())
    .pipe(response);
}

export interface Server {
  url: string;
  /** Ends the connections that are open, too. */
  close(): void;
}

/** Serves the folder once it resolves; port 0 is any free one. Rejects when the port is taken. */
export function serve(what: string | Served, port = 0): Promise<Server> {
  const served = typeof what === "string" ? { folder: what } : what;
  const server = createServer((request, response) => answer(served, request, response));
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
export function serveAt(what: string | Served, wanted: number): Promise<Server> {
  return serve(what, wanted).catch(() => serve(what));
}
