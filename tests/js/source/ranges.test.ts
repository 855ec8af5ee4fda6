// An engine that reads an address in ranges, as one in a web worker does. Node has no synchronous
// requests, so the server is a class in the place of XMLHttpRequest.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";
import { createEngine, type Engine } from "sconce";
import { failure } from "../setup/failure.js";
import { samplePath } from "../setup/reference.js";

const global = globalThis as { XMLHttpRequest?: unknown };
const bytes = new Uint8Array(readFileSync(samplePath("face-rfb320.pt2")));
const url = "https://example.com/face.pt2";

/** How the server behaves. */
interface Behaviour {
  status: number;
  hasRanges: boolean;
  tellsSize: boolean;
  tag: string;
  /** Fewer bytes than were asked for. */
  lacks: number;
}
const GOOD: Behaviour = { status: 0, hasRanges: true, tellsSize: true, tag: "1", lacks: 0 };
let server: Behaviour;
let asked: string[] = [];
let sent = 0;
let headers: Record<string, string> = {};

class Request {
  status = 0;
  response = new ArrayBuffer(0);
  responseType = "";
  withCredentials = false;
  private method = "";
  private readonly headers: Record<string, string> = {};

  open(method: string, address: string, isAsync: boolean): void {
    assert.deepEqual([address, isAsync], [url, false]);
    this.method = method;
  }
  setRequestHeader(name: string, value: string): void {
    this.headers[name.toLowerCase()] = value;
  }
  getResponseHeader(name: string): string | null {
    if (name === "etag") return server.tag;
    if (name === "content-length") return String(bytes.length);
    return name === "content-range" && server.tellsSize ? `bytes 0-1/${bytes.length}` : null;
  }
  send(): void {
    headers = this.headers;
    asked.push(this.method);
    this.status = server.status || 200;
    if (server.status || this.method === "HEAD") return;
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(this.headers["range"]!)!;
    this.status = server.hasRanges ? 206 : 200;
    const part = server.hasRanges
      ? bytes.slice(Number(from), Number(to) + 1 - server.lacks)
      : bytes;
    sent += part.length;
    this.response = part.slice().buffer;
  }
}

let engine: Engine;
let expected: Uint8Array;
before(async () => {
  engine = await createEngine();
  expected = engine.lower(bytes).buffer;
  global.XMLHttpRequest = Request;
});
beforeEach(() => {
  server = { ...GOOD };
  asked = [];
  sent = 0;
});
after(() => {
  delete global.XMLHttpRequest;
  engine.dispose();
});

test("lowering takes few requests, and no byte often", () => {
  const lowered = engine.lower(url);
  assert.deepEqual(lowered.buffer, expected);
  lowered.dispose();
  assert.ok(asked.length <= 8, `${asked.length} requests`);
  assert.ok(sent < 2 * bytes.length, `${sent} of ${bytes.length} bytes were sent`);
});

test("telling what a file is takes fewer", () => {
  assert.equal(engine.detect({ url }), "pt2");
  assert.ok(asked.length <= 6 && sent < bytes.length, `${asked.length} requests, ${sent} bytes`);
});

test("a server without ranges is asked once, for all", () => {
  server.hasRanges = false;
  assert.deepEqual(engine.lower(url).buffer, expected);
  assert.deepEqual(asked, ["GET"]);
});

test("a size that is hidden from other origins is asked for", () => {
  server.tellsSize = false;
  assert.deepEqual(engine.lower(url).buffer, expected);
  assert.deepEqual(asked.slice(0, 2), ["GET", "HEAD"]);
});

test("headers go with each request", () => {
  engine.lower({ url, headers: { authorization: "Bearer secret" } }).dispose();
  assert.ok(asked.length > 1);
  assert.equal(headers["authorization"], "Bearer secret");
});

test("what goes wrong is an error with the address", () => {
  server.status = 404;
  assert.match(failure(() => engine.lower(url)).message, /face\.pt2 answered 404/);
  server = { ...GOOD, lacks: 1 };
  const short = failure(() => engine.lower(url));
  assert.equal(short.code, "io");
  server = { ...GOOD };
  const opened = engine.toEdge(url);
  server.tag = "2";
  const changed = failure(() => opened.toExecutorch().buffer);
  assert.equal(changed.code, "io");
  assert.match(changed.message, /changed while it was read/);
});

test("what is to be kept has to be waited for", () => {
  const error = failure(() => engine.lower({ url, cache: true }));
  assert.equal(error.code, "argument");
  assert.match(error.hint, /fetchSource/);
});
