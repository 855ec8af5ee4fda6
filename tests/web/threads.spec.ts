// Flavours and threads in a page: which module is downloaded, what an isolated page gains, and what one
// without isolation hears why not.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import type * as Library from "sconce";
import { inRoot, startBrowser } from "./browser.js";

const TYPES: Record<string, string> = { ".js": "text/javascript", ".wasm": "application/wasm" };
const ISOLATED = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

interface Site {
  url: string;
  /** The paths that were asked for, in order. */
  asked: string[];
  close(): void;
}

/** Serves dist/ with the headers; paths that match `without` are not there. */
function serve(headers: Record<string, string>, without = /^$/): Promise<Site> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    asked.push(path);
    if (without.test(path)) return void response.writeHead(404, headers).end();
    const type = path === "/" ? "text/html" : (TYPES[extname(path)] ?? "application/octet-stream");
    const body =
      path === "/"
        ? "<!doctype html><title>threads</title>"
        : path === "/face.pt2"
          ? readFileSync(inRoot("models/face-rfb320.pt2"))
          : path.startsWith("/dist/")
            ? readFileSync(inRoot(path.slice(1)))
            : "";
    response.writeHead(200, { ...headers, "Content-Type": type }).end(body);
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      resolve({ url: `http://127.0.0.1:${port}/`, asked, close: () => server.close() });
    }),
  );
}

let browser: Browser;
before(async () => (browser = await startBrowser()));
after(() => browser.close());

interface Found {
  capabilities: Library.Capabilities;
  /** The outputs of each run, as text. */
  results: string[];
  notes: string[];
}

/** Runs the face detector a few times in a client with these options. */
async function runIn(site: Site, options: Library.EngineOptions): Promise<Found> {
  const page = await browser.newPage();
  try {
    await page.goto(site.url);
    return await page.evaluate(async (given) => {
      const { createClient, tensor } = (await import("/dist/index.js" as string)) as typeof Library;
      const notes: string[] = [];
      const client = await createClient({ ...given, onLog: (_, text) => notes.push(text) });
      const bytes = await (await fetch("/face.pt2")).arrayBuffer();
      const lowered = await client.lower(bytes, { partitioner: "xnnpack" });
      const program = await client.load(lowered);
      const count = 3 * 240 * 320;
      const input = tensor(
        Float32Array.from({ length: count }, (_, i) => ((i * 7919) % 255) / 128 - 1),
        [1, 3, 240, 320],
      );
      const results = [];
      for (let round = 0; round < 6; round++) {
        const outputs = await program.run("forward", [input]);
        results.push(outputs.map((output) => String((output as Library.Tensor).data)).join("\n"));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      const capabilities = await client.capabilities();
      client.terminate();
      return { capabilities, results, notes };
    }, options);
  } finally {
    await page.close();
    site.close();
  }
}

const modules = (site: Site): string[] => site.asked.filter((path) => path.endsWith(".wasm"));

test("an isolated page has threads, and downloads one module", async () => {
  const site = await serve(ISOLATED);
  const { capabilities, results, notes } = await runIn(site, { threads: 3 });
  assert.deepEqual(modules(site), ["/dist/relaxed-threads.wasm"]);
  const { binary, threads, reasons } = capabilities;
  assert.deepEqual(
    { binary, threads, reasons, notes },
    {
      ...{ binary: "relaxed-threads", threads: 3, reasons: [], notes: [] },
    },
  );
  // The client's worker, and two threads with the same script.
  assert.equal(site.asked.filter((path) => path === "/dist/worker.js").length, 3);
  assert.equal(new Set(results).size, 1);
});

test("a page without isolation has one thread, and hears why", async () => {
  const site = await serve({});
  const { capabilities, notes } = await runIn(site, { threads: 3 });
  assert.deepEqual(modules(site), ["/dist/relaxed.wasm"]);
  assert.deepEqual([capabilities.binary, capabilities.threads], ["relaxed", 1]);
  assert.match(capabilities.reasons.join(), /not cross-origin isolated/);
  assert.match(notes.join(), /there is one thread: the page is not cross-origin isolated/);
});

test("a site that has only the baseline works", async () => {
  const site = await serve(ISOLATED, /(relaxed|threads)\.wasm/);
  const { capabilities } = await runIn(site, {});
  assert.equal(capabilities.binary, "simd");
  assert.match(capabilities.reasons.join("\n"), /relaxed\.wasm could not be loaded.*404/);
});

test("results of the baseline do not depend on threads, and are those of Node", async () => {
  const site = await serve(ISOLATED);
  const { results, capabilities } = await runIn(site, { threads: 2, deterministic: true });
  assert.equal(capabilities.binary, "threads");
  const { createEngine, tensor } = await import("sconce");
  const engine = await createEngine({ deterministic: true, threads: 1 });
  const lowered = engine.lower(inRoot("models/face-rfb320.pt2"), { partitioner: "xnnpack" });
  const count = 3 * 240 * 320;
  const values = Float32Array.from({ length: count }, (_, i) => ((i * 7919) % 255) / 128 - 1);
  const outputs = engine.load(lowered).run("forward", [tensor(values, [1, 3, 240, 320])]);
  const expected = outputs.map((output) => String((output as Library.Tensor).data)).join("\n");
  assert.deepEqual(results, Array<string>(6).fill(expected));
  engine.dispose();
});

test("an engine on the page's own thread has one, and says what to use instead", async () => {
  const site = await serve(ISOLATED);
  const page = await browser.newPage();
  await page.goto(site.url);
  const { binary, threads, reasons } = await page.evaluate(async () => {
    const { createEngine } = (await import("/dist/index.js" as string)) as typeof Library;
    const engine = await createEngine();
    const found = engine.capabilities();
    engine.dispose();
    return found;
  });
  assert.deepEqual([binary, threads], ["relaxed", 1]);
  assert.match(reasons.join(), /main thread may not wait .* createClient\(\)/);
  await page.close();
  site.close();
});
