// sconce studio, sconce docs and the server behind them. They serve their pages with the right types and
// headers, and nothing else, on this machine only, until they are stopped.
import assert from "node:assert/strict";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { request, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { brotliCompressSync, constants } from "node:zlib";
import { cli, folder, sconce } from "../setup/command.js";

interface Server {
  url: string;
  close(): void;
}
type Site = (path: string) => unknown;
type Files = ReadonlyMap<string, Uint8Array>;
const command = <T>(name: string): Promise<T> =>
  import(new URL(`cli/studio/${name}.js`, `file://${cli}`).href) as Promise<T>;
const { serve } = await command<{
  serve(what: string | Site, port?: number): Promise<Server>;
}>("serve");
const { archiveSite } = await command<{ archiveSite(files: Files): Site }>("site");
const { packFiles, unpackFiles } = await command<{
  packFiles(files: Files): Uint8Array;
  unpackFiles(archive: Uint8Array): Files;
}>("archive");

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The path goes out as it is written, which fetch would not do. */
function ask(
  url: string,
  path: string,
  method = "GET",
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method, headers, agent: false }, (response) => {
      let body = "";
      response.setEncoding("latin1").on("data", (part: string) => (body += part));
      response.on("end", () =>
        resolve({ status: response.statusCode, headers: response.headers, body }),
      );
    })
      .on("error", reject)
      .end();
  });
}

const running: ChildProcessWithoutNullStreams[] = [];
after(() => running.forEach((child) => child.kill("SIGKILL")));

const studio = (...args: string[]): ReturnType<typeof started> => started("studio", ...args);

/** Starts the command; resolves with the address that it prints. */
async function started(...args: string[]): Promise<{
  url: string;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}> {
  const child = spawn(process.execPath, [cli, ...args]);
  running.push(child);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const line = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text.includes("\n")) resolve(text);
    });
    child.stderr.setEncoding("utf8").on("data", (part: string) => reject(new Error(part)));
    void ended.then((status) => reject(new Error(`ended with ${status}: ${text}`)));
  });
  const [, url] =
    /^(?:Sconce Studio|The documentation) is at (\S+) \(Ctrl-C stops it\)\n$/.exec(line) ?? [];
  assert.ok(url, line);
  return {
    url,
    stop(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

const WANTED: Record<string, number> = {
  "/": 200,
  "/index.html?x=%": 200,
  "/inner": 200,
  "//": 200,
  "/nothing": 404,
  "/%E0%A4%A": 404,
  "/%00": 404,
  "/../secret.txt": 404,
  "/%2e%2e/secret.txt": 404,
  "/inner/..%2f..%2fsecret.txt": 404,
  "/..%5csecret.txt": 404,
  "http://elsewhere/": 404,
};

/** The same two files, in a folder next to a secret and in an archive. */
function sites(): Record<string, string | Site> {
  const page = join(folder, "page");
  mkdirSync(join(page, "inner"), { recursive: true });
  writeFileSync(join(folder, "secret.txt"), "no");
  writeFileSync(join(page, "index.html"), "home");
  writeFileSync(join(page, "inner", "index.html"), "inner");
  const files = new Map([
    ["/index.html", Buffer.from("home")],
    ["/inner/index.html", Buffer.from("inner")],
  ]);
  return { folder: page, archive: archiveSite(unpackFiles(packFiles(files))) };
}

for (const [kind, site] of Object.entries(sites())) {
  test(`the server answers every path, and only with the files of its ${kind}`, async () => {
    const server = await serve(site);
    for (const [path, status] of Object.entries(WANTED))
      assert.equal((await ask(server.url, path)).status, status, path);
    const { body, headers } = await ask(server.url, "/inner");
    assert.deepEqual([body, headers["content-type"]], ["inner", "text/html; charset=utf-8"]);
    const head = await ask(server.url, "/inner", "HEAD");
    assert.deepEqual([head.status, head.headers["content-length"], head.body], [200, "5", ""]);
    assert.equal((await ask(server.url, "/", "POST")).status, 405);
    server.close();
  });

  test(`the server does not send a file of its ${kind} again that the browser has`, async () => {
    const server = await serve(site);
    const { etag } = (await ask(server.url, "/")).headers;
    assert.match(etag!, /^"[\w-]+"$/);
    assert.notEqual((await ask(server.url, "/inner")).headers.etag, etag);
    for (const known of [etag!, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const { status, headers, body } = await ask(server.url, "/", "GET", {
        "If-None-Match": known,
      });
      assert.deepEqual([status, headers.etag, body], [304, etag, ""], known);
    }
    const other = await ask(server.url, "/", "GET", { "If-None-Match": '"other"' });
    assert.deepEqual([other.status, other.body], [200, "home"]);
    server.close();
  });
}

test("an archive gives back its files, and one that is damaged says so", () => {
  const files = new Map([
    ["/a", Buffer.from("first")],
    ["/empty", Buffer.alloc(0)],
    ["/b/ü.txt", Buffer.from("second")],
  ]);
  const found = unpackFiles(packFiles(files));
  assert.deepEqual(
    [...found].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]),
    [...files].map(([path, bytes]) => [path, bytes.toString()]),
  );
  const whole = (index: string, rest = ""): Uint8Array => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(Buffer.byteLength(index));
    return brotliCompressSync(Buffer.concat([head, Buffer.from(index + rest)]));
  };
  const damaged: [Uint8Array, RegExp][] = [
    [packFiles(files).slice(0, 20), /damaged/],
    [Buffer.from("no archive"), /damaged/],
    [brotliCompressSync(Buffer.alloc(3)), /its index is not whole/],
    [brotliCompressSync(Buffer.alloc(9, 255)), /its index is not whole/],
    [whole("["), /damaged: .*JSON/],
    [whole("{}"), /its index is no list of files/],
    [whole('[["a",1]]', "x"), /its index is no list of files/],
    [whole('[["/a",2]]', "x"), /'\/a' is not whole/],
    [whole('[["/a",-1]]', "x"), /'\/a' is not whole/],
    [whole('[["/a",1]]', "xy"), /1 bytes belong to no file/],
  ];
  for (const [archive, message] of damaged)
    assert.throws(() => unpackFiles(archive), { code: "io", message });
  // These few bytes would become more than a page may have.
  const bomb = brotliCompressSync(Buffer.alloc(65 << 20), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
  });
  assert.throws(() => unpackFiles(bomb), { code: "io" });
});

test("docs serves the documentation, and studio has it in a folder", async () => {
  const page = await started("studio", "--port", "0");
  const docs = await started("docs", "--port", "0");
  for (const url of [`${page.url}docs/`, docs.url]) {
    const path = new URL(url).pathname;
    const index = await ask(url, path);
    assert.equal(index.headers["content-type"], "text/html; charset=utf-8");
    assert.match(index.body, /<title>Sconce<\/title>/);
    const named = [...index.body.matchAll(/(?:href|src)="([\w.-]+)"/g)].map(([, name]) => name!);
    assert.ok(named.length > 20, `${named}`);
    for (const name of new Set(named))
      assert.equal((await ask(url, path + name, "HEAD")).status, 200, name);
  }
  assert.deepEqual([await page.stop("SIGINT"), await docs.stop("SIGTERM")], [0, 0]);
});

test("studio serves the page, with what it needs, and ends when it is stopped", async () => {
  const { url, stop } = await studio("--port", "0");
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  const index = await ask(url, "/");
  assert.equal(index.headers["content-type"], "text/html; charset=utf-8");
  assert.equal(index.headers["cross-origin-opener-policy"], "same-origin");
  assert.equal(index.headers["cross-origin-embedder-policy"], "require-corp");
  assert.match(index.body, /<title>Sconce Studio<\/title>/);
  const assets = readdirSync(new URL("web/assets", `file://${cli}`));
  const types = { js: "text/javascript", css: "text/css", wasm: "application/wasm" };
  for (const [end, type] of Object.entries(types)) {
    const name = assets.find((asset) => asset.endsWith(`.${end}`));
    const { status, headers } = await ask(url, `/assets/${name}`, "HEAD");
    assert.deepEqual([status, headers["content-type"]], [200, type], name);
  }
  assert.equal((await ask(url, "/../cli.js")).status, 404);
  assert.equal((await ask(url, "/%2e%2e/%2e%2e/package.json")).status, 404);
  assert.equal(await stop("SIGINT"), 0);
  await assert.rejects(ask(url, "/"));
});

test("studio takes another port when its own is taken, but none that was not asked for", async () => {
  // Another process may have it. It is taken either way.
  const holder = await serve(folder, 8000).catch(() => undefined);
  const { url, stop } = await studio();
  assert.doesNotMatch(url, /:8000\//);
  const port = new URL(url).port;
  const { status, stdout, stderr } = sconce("studio", "--port", port);
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, new RegExp(`^io: port ${port} is taken\\n {2}Leave out --port`));
  assert.equal(await stop("SIGTERM"), 0);
  holder?.close();
});

test("studio refuses what is not a port, and anything else", () => {
  for (const args of [["--port", "70000"], ["--port", "web"], ["--prot", "1"], ["model.pt2"]]) {
    const { status, stdout, stderr } = sconce("studio", ...args);
    assert.deepEqual([status, stdout], [2, ""], args.join(" "));
    assert.match(stderr, /^sconce studio: .*\n(  .*\n)?Try sconce studio --help\.\n$/);
  }
  assert.match(sconce("studio", "--help").stdout, /--open/);
});
