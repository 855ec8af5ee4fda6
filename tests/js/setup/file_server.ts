// A server of files that behaves well or badly, as the path says.
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import { modelPath } from "./reference.js";

export interface FileServer {
  url: string;
  /** The version of the files under /versions. */
  version: string;
  /** Every request as "METHOD /path". */
  readonly asked: string[];
  /** Resolves once a connection has ended before its answer was complete. */
  brokenOff(): Promise<void>;
  close(): void;
}

const PIECE_BYTES = 4096;
const HTML = "<!doctype html><html><title>Not here</title></html>";

type Answer = (
  response: ServerResponse,
  file: Buffer,
  request: IncomingMessage,
  server: FileServer,
) => void;

async function inPieces(response: ServerResponse, file: Buffer): Promise<void> {
  for (let at = 0; at < file.length; at += PIECE_BYTES) {
    response.write(file.subarray(at, at + PIECE_BYTES));
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

/** By the first part of the path; the second one names the file. */
const ANSWERS: Record<string, Answer> = {
  whole: (response, file) => {
    response.setHeader("content-length", file.length);
    response.end(file);
  },
  chunked: (response, file) => void inPieces(response, file),
  gzip: (response, file) => {
    const packed = gzipSync(file);
    response.setHeader("content-encoding", "gzip").setHeader("content-length", packed.length);
    response.end(packed);
  },
  moved: (response, _, { url }) => {
    response.writeHead(302, { location: url!.replace("moved", "whole") }).end();
  },
  html: (response) => response.setHeader("content-type", "text/html").end(HTML),
  private: (response, file, { headers }) => {
    response.statusCode = headers.authorization === "Bearer secret" ? 200 : 401;
    response.end(response.statusCode === 200 ? file : "");
  },
  part: (response, file) => response.writeHead(206).end(file.subarray(0, 100)),
  broken: (response, file) => {
    response.setHeader("content-length", file.length);
    response.write(file.subarray(0, PIECE_BYTES), () => response.destroy());
  },
  short: (response, file) => {
    response.write(file.subarray(0, PIECE_BYTES), () => response.destroy());
  },
  hangs: (response, file) => {
    response.setHeader("content-length", file.length);
    response.write(file.subarray(0, PIECE_BYTES));
  },
  endless: (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 16)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  },
  versions: (response, file, _, { version }) => {
    response.setHeader("etag", `"${version}"`).setHeader("content-length", file.length);
    response.end(file);
  },
  ranges: (response, file, { headers }) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
    if (!from || !to) return void response.end(file);
    const part = file.subarray(Number(from), Number(to) + 1);
    const range = `bytes ${from}-${Number(from) + part.length - 1}/${file.length}`;
    response.writeHead(206, { "content-range": range }).end(part);
  },
  missing: (response) => response.writeHead(404).end("there is no such file"),
};

const TYPES: Record<string, string> = { ".js": "text/javascript", ".wasm": "application/wasm" };

/** The built library, for pages. */
function serveLibrary(path: string, response: ServerResponse): void {
  const file = new URL(`../../../../dist/${path}`, import.meta.url);
  response.setHeader("content-type", TYPES[extname(path)] ?? "text/plain");
  if (existsSync(file)) response.end(readFileSync(file));
  else response.writeHead(404).end();
}

export async function startFileServer(): Promise<FileServer> {
  const asked: string[] = [];
  let endings = 0;
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    if (request.url!.startsWith("/dist/")) return serveLibrary(request.url!.slice(6), response);
    asked.push(`${request.method} ${request.url}`);
    const [, how = "", name = ""] = request.url!.split("/");
    response.on("close", () => {
      if (response.writableFinished) return;
      endings++;
      for (const go of waiting.splice(0)) go();
    });
    response.setHeader("access-control-allow-origin", "*");
    const answer = ANSWERS[how];
    const file = name ? readFileSync(modelPath(name)) : Buffer.alloc(0);
    if (answer) answer(response, file, request, result);
    else response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const result: FileServer = {
    version: "1",
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    brokenOff: () =>
      endings > 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return result;
}
