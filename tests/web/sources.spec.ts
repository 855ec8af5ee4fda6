// Sources in a page, from the library as it is served unbundled: addresses, answers, streams, picked
// files, the cache, and an engine in a worker that reads in ranges.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type * as Sconce from "sconce";
import { createEngine } from "sconce";
import { startFileServer, type FileServer } from "../js/setup/file_server.js";
import { modelPath } from "../js/setup/reference.js";
import { startBrowser } from "./browser.js";

type Library = typeof Sconce;
declare global {
  var sconce: Library;
  var client: Sconce.Client;
  /** Digits that tell one file from another. */
  var sum: (bytes: Uint8Array) => Promise<string>;
}

let server: FileServer;
let browser: Browser;
let page: Page;
let expected = "";

const sumOf = async (bytes: Uint8Array): Promise<string> =>
  Buffer.from(await crypto.subtle.digest("SHA-256", bytes as BufferSource)).toString("hex");

before(async () => {
  server = await startFileServer();
  const engine = await createEngine();
  expected = await sumOf(engine.lower(modelPath("mlp.pt2")).buffer);
  engine.dispose();
  browser = await startBrowser();
  page = await (await browser.newContext()).newPage();
  await page.goto(`${server.url}/html/`);
  await page.evaluate(async () => {
    globalThis.sconce = (await import("/dist/index.js" as string)) as Library;
    globalThis.client = await sconce.createClient();
    globalThis.sum = async (bytes) => {
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
      return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    };
  });
});
beforeEach(() => (server.asked.length = 0));
after(async () => {
  await browser.close();
  server.close();
});

test("addresses are the page's, and each is one request", async () => {
  const found = await page.evaluate(async () => {
    const relative = "../whole/mlp.pt2";
    const absolute = new URL(relative, location.href);
    const sums: string[] = [];
    for (const source of [relative, absolute, { url: relative }, { forward: absolute }]) {
      const lowered = await client.lower(source);
      sums.push(await sum(await lowered.buffer));
      await lowered.dispose();
    }
    const engine = await sconce.createEngine();
    sums.push(await sum(engine.lower(await sconce.fetchSource(relative)).buffer));
    return sums;
  });
  assert.deepEqual(found, Array(5).fill(expected));
  assert.deepEqual(server.asked, Array(5).fill("GET /whole/mlp.pt2"));
});

test("another origin may send compressed files, and refuse", async () => {
  const other = await startFileServer();
  try {
    const found = await page.evaluate(async (origin) => {
      const lowered = await client.lower(`${origin}/gzip/mlp.pt2`);
      const answer = await fetch(`${origin}/whole/mlp.pt2`, { mode: "no-cors" });
      const codes = [answer, `${origin}/dist/index.js`].map((source) =>
        client.lower(source).catch((error: unknown) => {
          const { code, message } = error as Sconce.SconceError;
          return `${code}: ${message}`;
        }),
      );
      return [await sum(await lowered.buffer), ...(await Promise.all(codes))];
    }, other.url);
    assert.equal(found[0], expected);
    assert.match(String(found[1]), /^io: .* is opaque/);
    assert.match(String(found[2]), /^io: .*\/dist\/index\.js cannot be loaded/);
  } finally {
    other.close();
  }
});

test("answers, streams, Blobs and promises are read once", async () => {
  const found = await page.evaluate(async () => {
    const ask = (): Promise<Response> => fetch("/chunked/mlp.pt2");
    const sums: string[] = [];
    for (const source of [await ask(), (await ask()).body!, await (await ask()).blob(), ask()]) {
      const lowered = await client.lower(source);
      sums.push(await sum(await lowered.buffer));
    }
    const loaded = await client.load(client.lower(ask()));
    return [...sums, ...loaded.methods];
  });
  assert.deepEqual(found, [...Array(4).fill(expected), "forward"]);
});

test("files of the origin are read and written by their handles", async () => {
  const found = await page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory();
    const handle = async (name: string): Promise<FileSystemFileHandle> =>
      folder.getFileHandle(name, { create: true });
    const model = await handle("mlp.pt2");
    const stream = await model.createWritable();
    await (await fetch("/whole/mlp.pt2")).body!.pipeTo(stream);
    const lowered = await client.lower(model);
    const target = await handle("mlp.pte");
    await lowered.writeTo(target);
    const written = new Uint8Array(await (await target.getFile()).arrayBuffer());
    return [await sum(written), await client.detect(target)];
  });
  assert.deepEqual(found, [expected, "pte"]);
});

test("an engine of a page says what to write", async () => {
  const hints = await page.evaluate(async () => {
    const engine = await sconce.createEngine();
    const hintOf = (source: Sconce.Source): string => {
      try {
        engine.lower(source);
        return "nothing was thrown";
      } catch (error) {
        return (error as Sconce.SconceError).hint;
      }
    };
    return [hintOf("/whole/mlp.pt2"), hintOf(new Blob([])), hintOf({ path: "mlp.pt2" })];
  });
  assert.match(hints[0]!, /await fetchSource\("http:.*\/whole\/mlp\.pt2"\)/);
  assert.match(hints[1]!, /await fetchSource\(blob\)/);
  assert.match(hints[2]!, /bytes or a Blob/);
});

test("an engine in a worker reads an address in few ranges, or whole", async () => {
  const found = await page.evaluate(async () => {
    const script = `
      import { createEngine } from "${location.origin}/dist/index.js";
      const engine = await createEngine();
      const bytes = ["ranges", "whole"].map((how) => engine.lower("${location.origin}/" + how + "/mlp.pt2").buffer);
      postMessage(bytes);
    `;
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(url, { type: "module" });
    const bytes = await new Promise<Uint8Array[]>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data as Uint8Array[]);
      worker.onerror = (event) => reject(new Error(event.message));
    });
    worker.terminate();
    return Promise.all(bytes.map(sum));
  });
  assert.deepEqual(found, [expected, expected]);
  assert.deepEqual(server.asked, ["GET /ranges/mlp.pt2", "GET /whole/mlp.pt2"]);
});

/** Lowers an address with a cache, and tells what the log says. */
const lowerKept = (url: string, cache: true | "revalidate"): Promise<string> =>
  page.evaluate(
    async ([address, kept]) => {
      const lowered = await client.lower({ url: address as string, cache: kept as true });
      return sum(await lowered.buffer);
    },
    [url, cache] as const,
  );

const listed = (): Promise<{ url: string; bytes: number; isRecent: boolean }[]> =>
  page.evaluate(async () =>
    (await sconce.cachedFiles()).map(({ url, bytes, date }) => {
      const isRecent = Math.abs(Date.now() - date.getTime()) < 3_600_000;
      return { url: new URL(url).pathname, bytes, isRecent };
    }),
  );

test("a kept file is not asked for again until it is forgotten", async () => {
  const bytes = readFileSync(modelPath("mlp.pt2")).length;
  for (let i = 0; i < 2; i++) assert.equal(await lowerKept("/gzip/mlp.pt2#part", true), expected);
  assert.deepEqual(server.asked, ["GET /gzip/mlp.pt2"]);
  assert.deepEqual(await listed(), [{ url: "/gzip/mlp.pt2", bytes, isRecent: true }]);
  assert.equal(await page.evaluate(() => sconce.forgetFiles("/other")), 0);
  assert.equal(await page.evaluate(() => sconce.forgetFiles("/gzip/mlp.pt2")), 1);
  assert.deepEqual(await listed(), []);
  assert.equal(await lowerKept("/gzip/mlp.pt2", true), expected);
  assert.equal(server.asked.length, 2);
  assert.equal(await page.evaluate(() => sconce.forgetFiles()), 1);
});

test("a kept file that is to be checked is downloaded again when it has changed", async () => {
  const url = "/versions/mlp.pt2";
  const get = `GET ${url}`;
  const head = `HEAD ${url}`;
  for (const [version, asked] of [
    ["1", [get]],
    ["1", [head]],
    ["2", [head, get]],
    ["2", [head]],
  ] as const) {
    server.asked.length = 0;
    server.version = version;
    assert.equal(await lowerKept(url, "revalidate"), expected);
    assert.deepEqual(server.asked, asked);
  }
  // The kept file is there without a network, too.
  await page.context().setOffline(true);
  assert.equal(await lowerKept(url, "revalidate"), expected);
  await page.context().setOffline(false);
  await page.evaluate(() => sconce.forgetFiles());
});

test("nothing is kept of an answer that is no whole file", async () => {
  for (const how of ["html", "missing", "broken"])
    await assert.rejects(lowerKept(`/${how}/mlp.pt2`, true), /\/mlp\.pt2 /);
  assert.deepEqual(await listed(), []);
});

test("a kept file that is damaged is downloaded again", async () => {
  const url = "/whole/mlp.pt2";
  assert.equal(await lowerKept(url, true), expected);
  await page.evaluate(async (address) => {
    const [name] = (await caches.keys()).filter((one) => one.startsWith("sconce"));
    const cache = await caches.open(name!);
    const headers = (await cache.match(address))!.headers;
    await cache.put(address, new Response("half", { headers }));
  }, url);
  assert.equal(await lowerKept(url, true), expected);
  assert.equal(await lowerKept(url, true), expected);
  assert.deepEqual(server.asked, [`GET ${url}`, `GET ${url}`]);
  await page.evaluate(() => sconce.forgetFiles());
});

test("a file that cannot be kept is still the caller's, and the log says so", async () => {
  const [found, log] = await page.evaluate(async () => {
    const { put } = Cache.prototype;
    Cache.prototype.put = () =>
      Promise.reject(new DOMException("Quota exceeded.", "QuotaExceededError"));
    const reported: string[] = [];
    try {
      const bytes = await sconce.fetchSource("/whole/mlp.pt2", {
        cache: true,
        onLog: (severity, text) => reported.push(`${severity}: ${text}`),
      });
      return [(bytes as Uint8Array).length, reported] as const;
    } finally {
      Cache.prototype.put = put;
    }
  });
  assert.equal(found, readFileSync(modelPath("mlp.pt2")).length);
  assert.match(log.join(), /^warning: .*\/whole\/mlp\.pt2 could not be kept: Quota exceeded/);
});
