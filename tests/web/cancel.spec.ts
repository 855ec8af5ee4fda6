// Cancelling in pages: the worker of the library stops in the middle of a call where the page may
// share memory, and where it may not but can read URLs of its own. A backend that waits for this
// server holds the call until it was cancelled.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import type * as Library from "sconce";
import { inRoot, startBrowser } from "./browser.js";

const TYPES: Record<string, string> = { ".js": "text/javascript", ".wasm": "application/wasm" };

/** Asks the server, and goes on when it answers. */
const BACKEND = `
const wait = () => {
  const request = new XMLHttpRequest();
  request.open("GET", "/wait", false);
  request.send();
};
export default {
  id: "Waiting",
  supports: (node) => node.op === "aten::addmm" || "only products",
  preprocess: () => (wait(), { processedBytes: new Uint8Array(4) }),
  init: () => null,
  execute: () => [],
};`;

interface Waiting {
  url: string;
  /** How often the backend was asked. */
  asked(): number;
  /** Resolves once it is asked. */
  busy: Promise<void>;
  /** Answers what waits, and all that comes. */
  go(): void;
  close(): void;
}

function serve(headers: Record<string, string>): Promise<Waiting> {
  let [asked, isOpen] = [0, false];
  const waiting: ServerResponse[] = [];
  let isAsked: () => void;
  const busy = new Promise<void>((resolve) => (isAsked = resolve));
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    const send = (type: string, body: string | Buffer): void =>
      void response.writeHead(200, { ...headers, "Content-Type": type }).end(body);
    if (path === "/wait") {
      asked++;
      isAsked();
      if (isOpen) send("text/plain", "");
      else waiting.push(response);
    } else if (path === "/backend.js") send("text/javascript", BACKEND);
    else if (path === "/mlp.pt2")
      send("application/octet-stream", readFileSync(inRoot("tests/models/mlp.pt2")));
    else if (path.startsWith("/dist/"))
      send(TYPES[extname(path)] ?? "text/plain", readFileSync(inRoot(path.slice(1))));
    else send("text/html", "<!doctype html><title>cancelling</title>");
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () =>
      resolve({
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
        asked: () => asked,
        busy,
        go() {
          isOpen = true;
          for (const response of waiting) response.writeHead(200, headers).end();
        },
        close: () => server.close(),
      }),
    );
  });
}

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

declare global {
  /** A global of the page. */
  var state: {
    client: Library.Client;
    controller: AbortController;
    name: Promise<string>;
    /** URLs that the page has made and revoked. */
    revoked: string[];
  };
}

/** How often the backend is asked in all when the lowering is cancelled at its first part. */
async function askedIfCancelled(headers: Record<string, string>): Promise<[number, boolean]> {
  const host = await serve(headers);
  const page = await browser.newPage();
  await page.goto(host.url);
  await page.evaluate(async () => {
    const { createClient } = (await import("/dist/index.js" as string)) as typeof Library;
    const client = await createClient();
    await client.importBackend({ url: "/backend.js" });
    const bytes = await (await fetch("/mlp.pt2")).arrayBuffer();
    const controller = new AbortController();
    const { signal } = controller;
    const revoked: string[] = [];
    const revoke = URL.revokeObjectURL.bind(URL);
    URL.revokeObjectURL = (url) => (revoked.push(url), revoke(url));
    const name = client.lower(bytes, { partitioner: "Waiting", signal }).then(
      () => "none",
      (error: Error) => error.name,
    );
    globalThis.state = { client, controller, name, revoked };
  });
  await host.busy;
  const reported = await page.evaluate(() => {
    state.controller.abort();
    return state.name;
  });
  assert.equal(reported, "AbortError");
  // Chromium revokes a URL some time after the call that asks for it. The page itself asks again: a
  // policy without 'unsafe-eval' refuses what waitForFunction does from its second look on.
  await page.evaluate(async () => {
    const isThere = (url: string): Promise<boolean> => fetch(url).then(Boolean, () => false);
    for (const url of state.revoked) {
      while (await isThere(url)) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  // The worker looks again after a second at most.
  await new Promise((resolve) => setTimeout(resolve, 1050));
  host.go();
  const kind = await page.evaluate(() => state.client.detect(new Uint8Array(4)));
  assert.equal(kind, "unknown");
  const isIsolated = await page.evaluate(() => crossOriginIsolated);
  await page.close();
  host.close();
  return [host.asked(), isIsolated];
}

const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

test("a page that is isolated shares memory with its worker", async () => {
  const headers = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    // URLs of the page are of no use here.
    "Content-Security-Policy": POLICY,
  };
  assert.deepEqual(await askedIfCancelled(headers), [1, true]);
});

test("a page that is not revokes a URL", async () => {
  assert.deepEqual(await askedIfCancelled({}), [1, false]);
  const headers = { "Content-Security-Policy": `${POLICY} blob:` };
  assert.deepEqual(await askedIfCancelled(headers), [1, false]);
});

test("a call runs to its end if the policy forbids both", async () => {
  assert.deepEqual(await askedIfCancelled({ "Content-Security-Policy": POLICY }), [2, false]);
});
