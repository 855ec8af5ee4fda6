// The same measurements in Chromium: a page of nothing but browser_page.mjs, which gets files from a
// server that exists as long as the page does. The page is isolated from other origins: clocks are
// only fine there.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { StepFailed, chromium, inRoot } from "../../tools/steps.mjs";
import { peers } from "./prepare.mjs";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
  ".json": "application/json",
};
const HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

// For modules `sconce` is the build; classic scripts put `tf` where the page finds it.
const PAGE = `<!doctype html>
<script type="importmap">{ "imports": { "sconce": "/dist/index.js" } }</script>
<script src="/peers/@tensorflow/tfjs-core/dist/tf-core.min.js"></script>
<script src="/peers/@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.min.js"></script>
`;

// Folders by the first part of a path.
const FOLDERS = {
  dist: inRoot("dist"),
  tests: inRoot("tests"),
  examples: inRoot("examples"),
  peers,
};

/** The file that a request names: one of `files`, or one below a folder. */
function fileOf(url, files) {
  const [, first, ...rest] = normalize(decodeURIComponent(url.split("?")[0])).split("/");
  if (first === "files") return files[rest.join("/")];
  return FOLDERS[first] && join(FOLDERS[first], ...rest);
}

/** `files` are paths or bytes by name. */
function serveFiles(files) {
  const server = createServer((request, response) => {
    const answer = (type, body) => {
      response.writeHead(200, { ...HEADERS, "Content-Type": type });
      if (body.pipe) body.pipe(response);
      else response.end(body);
    };
    if (request.url === "/") return answer("text/html", PAGE);
    const file = fileOf(request.url, files);
    if (file instanceof Uint8Array) return answer("application/octet-stream", file);
    if (!file || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    answer(TYPES[extname(file)] ?? "application/octet-stream", createReadStream(file));
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

/** The answer of `part` of browser_page.mjs in a fresh browser that can fetch `/files/NAME`. */
export async function inBrowser(part, argument, { graph, ...files }) {
  if (graph) {
    files["calls.json"] = `${graph}.calls.json`;
    files["calls.bin"] = `${graph}.calls.bin`;
  }
  const { chromium: playwright } = await import("playwright-core");
  const server = await serveFiles(files);
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic"];
  const browser = await playwright.launch({ executablePath: chromium(), args });
  try {
    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${server.address().port}/`);
    const answer = await tab.evaluate(
      async ([name, given]) => {
        const parts = await import("/tests/bench/browser_page.mjs");
        return parts[name](given).catch((error) => ({ failed: error.message }));
      },
      [part, argument],
    );
    if (answer.failed) throw new StepFailed(answer.failed);
    return { browser: `Chromium ${browser.version()}`, ...answer };
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}
