// A static server for the built page: node tools/serve.mjs [--port N] [--folder DIR]. Sends the
// headers the page is made for, so what works here works wherever they are sent: no script but its
// own and WebAssembly, and isolated from other origins, which shared memory needs.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { parseArgs } from "node:util";
import { StepFailed, inRoot, script } from "./steps.mjs";

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".png": "image/png",
  ".txt": "text/plain; charset=utf-8",
};

export const headers = {
  "Content-Security-Policy":
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; " +
    "img-src 'self' data: blob:; style-src 'self'; connect-src 'self' blob: data:; " +
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
};

// The file that a request's path names inside the folder, or undefined.
function fileOf(folder, requested) {
  let path;
  try {
    path = normalize(decodeURIComponent(requested.split(/[?#]/, 1)[0]));
  } catch {
    return undefined; // a percent sign that escapes nothing
  }
  if (!path.startsWith("/") || path.includes("..") || path.includes("\0")) return undefined;
  const file = join(folder, path);
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isDirectory() ? fileOf(folder, join(path, "index.html")) : stats?.isFile() && file;
}

// Resolves to { url, close } once it listens; port 0 means any free one.
export function serve(folder, port = 0) {
  const server = createServer((request, response) => {
    const file = fileOf(folder, request.url);
    if (!file) {
      response.writeHead(404, headers).end("not found\n");
      return;
    }
    const type = types[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { ...headers, "Content-Type": type });
    createReadStream(file)
      .on("error", () => response.destroy())
      .pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      resolve({ url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() });
    });
  });
}

// The number of a --port.
export function portOf(text) {
  if (/^\d+$/.test(text) && Number(text) <= 65535) return Number(text);
  throw new StepFailed(`--port takes a number from 0 to 65535, not '${text}'`);
}

if (process.argv[1] === inRoot("tools/serve.mjs")) {
  await script(async (args) => {
    const { values } = parseArgs({
      args,
      options: { port: { type: "string", default: "0" }, folder: { type: "string" } },
    });
    const { url } = await serve(values.folder ?? inRoot("dist/web"), portOf(values.port));
    console.log(`Sconce is at ${url}`);
  });
}
