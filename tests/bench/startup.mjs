// A page that a bundler has built, from its script's first line to the first result: ours against
// onnxruntime-web, on the same weights, each in a fresh browser, in turns. Sizes are those of the
// files that the page asks for.
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { execFileSync } from "node:child_process";
import { StepFailed, bin, chromium, inRoot, run } from "../../tools/steps.mjs";
import { median, round, some } from "./measure.mjs";

const VISITS = 7;
const QUICKEST = "esbuild";

/** The page's script around a library: it says when the library is ready, and when it has a result. */
const scriptOf = ({ imports, ready, first }) => `
const began = performance.now();
${imports}
async function main() {
  const input = new Float32Array(3 * 240 * 320).fill(0.5);
  ${ready}
  const ready = performance.now() - began;
  ${first}
  document.body.textContent = JSON.stringify({ ready, first: performance.now() - began });
  document.title = "done";
}
main().catch((error) => { document.body.textContent = String(error); document.title = "done"; });
`;

const ORT = "onnxruntime-web@1.30.0";
const LIBRARIES = {
  "sconce, client": {
    imports: `import { createClient, tensor } from "sconce";`,
    ready: `const client = await createClient();`,
    first: `const file = new Uint8Array(await (await fetch("/face.pte")).arrayBuffer());
  const program = await client.load(file);
  await program.run("forward", [tensor(input, [1, 3, 240, 320])]);`,
  },
  "sconce, engine": {
    imports: `import { createEngine, tensor } from "sconce";`,
    ready: `const engine = await createEngine();`,
    first: `const file = new Uint8Array(await (await fetch("/face.pte")).arrayBuffer());
  engine.load(file).run("forward", [tensor(input, [1, 3, 240, 320])]);`,
  },
  // It has no call that only loads it: it is ready when it has made a session.
  "onnxruntime-web": {
    imports: `import * as ort from "onnxruntime-web/wasm";
ort.env.wasm.numThreads = 1;`,
    ready: `const session = await ort.InferenceSession.create("/face.onnx");`,
    first: `const feeds = { [session.inputNames[0]]: new ort.Tensor("float32", input, [1, 3, 240, 320]) };
  await session.run(feeds);`,
  },
};

const COPY = `cp node_modules/sconce/dist/{worker.js,sconce.wasm} node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.* dist/`;
const TOOLS = {
  "Vite 8": { packages: { vite: "8.3.8" }, build: ["npx vite build"], script: "/main.js" },
  "Vite 5": { packages: { vite: "5.4.21" }, build: ["npx vite build"], script: "/main.js" },
  webpack: {
    packages: { webpack: "5.112.2", "webpack-cli": "7.3.1" },
    build: ["npx webpack --mode production --entry ./main.js"],
    page: "dist/index.html",
    script: "main.js",
  },
  esbuild: {
    packages: { esbuild: "0.28.2" },
    build: ["npx esbuild main.js --bundle --minify --format=esm --outdir=dist", COPY],
    page: "dist/index.html",
    script: "main.js",
  },
  Rollup: {
    packages: { rollup: "4.68.8", "@rollup/plugin-node-resolve": "16.0.3" },
    build: ["npx rollup main.js -p node-resolve --format es --dir dist", COPY],
    page: "dist/index.html",
    script: "main.js",
  },
  Parcel: {
    packages: { parcel: "2.16.4" },
    build: ["rm -rf .parcel-cache", "npx parcel build index.html --no-cache"],
    script: "./main.js",
  },
};

/** The best compression of onnxruntime-web takes half a minute: a quick run does without. */
const compressed = (bytes, quick) => ({
  raw: bytes.length,
  gzip: gzipSync(bytes, { level: quick ? 1 : 9 }).length,
  brotli: brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: quick ? 1 : constants.BROTLI_MAX_QUALITY },
  }).length,
});

/** Sums of the sizes of files, by kind: js_gzip, wasm_brotli and so on. */
function sizesOf(paths, quick) {
  const sums = {};
  for (const path of paths) {
    const kind = path.endsWith(".wasm") ? "wasm" : "js";
    for (const [key, bytes] of Object.entries(compressed(readFileSync(path), quick)))
      sums[`${kind}_${key}`] = (sums[`${kind}_${key}`] ?? 0) + bytes;
  }
  return sums;
}

/** Measures one visit, in a browser of its own, and lists the files that it asks for. */
async function visitOnce(playwright, url, folder) {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic"];
  const browser = await playwright.launch({ executablePath: chromium(), args });
  try {
    const tab = await browser.newPage();
    const files = new Set();
    tab.on("request", (request) => {
      const { pathname, origin } = new URL(request.url());
      const path = join(folder, pathname);
      const isCode = /\.(m?js|wasm)$/.test(pathname) && `${origin}/` === url;
      if (isCode && statSync(path, { throwIfNoEntry: false })) files.add(path);
    });
    await tab.goto(url);
    await tab.waitForFunction("document.title === 'done'");
    const text = await tab.innerText("body");
    if (!text.startsWith("{")) throw new Error(text);
    return { ...JSON.parse(text), files };
  } finally {
    await browser.close();
  }
}

/** Runs the tool's commands; false where it cannot build a library of others. */
function isBuilt({ build }, name, folder) {
  try {
    for (const command of build)
      execFileSync("bash", ["-ec", command], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    return true;
  } catch (error) {
    if (name.startsWith("sconce"))
      throw new StepFailed(`${error.message}\n${String(error.stdout).slice(-1000)}`);
    return false;
  }
}

/** Builds a page for each library, and gives their folders. */
function buildPages(runner, programs, tool, folder, tarball) {
  const packages = { ...tool.packages, "onnxruntime-web": ORT.split("@")[1] };
  runner.install(folder, packages, tarball);
  const pages = {};
  for (const [name, library] of Object.entries(LIBRARIES)) {
    const page = { [tool.page ?? "index.html"]: programs.pageOf(tool.script) };
    rmSync(join(folder, "dist"), { recursive: true, force: true });
    runner.write(folder, { "main.js": scriptOf(library), ...page });
    if (!isBuilt(tool, name, folder)) continue;
    pages[name] = join(folder, `of-${Object.keys(pages).length}`);
    renameSync(join(folder, "dist"), pages[name]);
    copyFileSync(join(folder, "face.pte"), join(pages[name], "face.pte"));
    copyFileSync(inRoot("tests/bench/face-rfb320.onnx"), join(pages[name], "face.onnx"));
  }
  return pages;
}

/** Visits the pages in turns, and gives a row for each. */
async function measured(runner, pages, quick) {
  const { chromium: playwright } = await import("playwright-core");
  const shown = [];
  try {
    for (const [library, path] of Object.entries(pages))
      shown.push({ library, path, server: await runner.serve(path), seen: [] });
    for (let i = 0; i < (quick ? 1 : VISITS); i++)
      for (const { path, server, seen } of shown)
        seen.push(await visitOnce(playwright, runner.urlOf(server), path));
  } finally {
    for (const { server } of shown) server.close();
  }
  return shown.map(({ library, seen }) => {
    const middle = (key) => round(median(seen.map((visit) => visit[key])));
    const times = { ready_ms: middle("ready"), first_result_ms: middle("first") };
    return [library, { ...sizesOf(seen[0].files, quick), ...times }];
  });
}

export async function startup({ quick }) {
  run(bin("tsc"), ["-p", "tests/tsconfig.json"], { stdio: ["ignore", 2, 2] });
  const runner = await import(inRoot("build/js-tests/bundlers/runner.js"));
  const programs = await import(inRoot("build/js-tests/bundlers/programs.js"));
  const rows = {};
  for (const [name, tool] of Object.entries(some(quick, TOOLS, QUICKEST))) {
    const folder = mkdtempSync(join(tmpdir(), "sconce-startup-"));
    try {
      const lower = [inRoot("dist/cli.js"), "lower", inRoot("models/face-rfb320.pt2")];
      const args = [...lower, "-o", join(folder, "face.pte"), "--backend", "xnnpack"];
      run("node", args, { stdio: ["ignore", 2, 2] });
      const pages = buildPages(runner, programs, tool, folder, runner.pack(folder));
      for (const [library, row] of await measured(runner, pages, quick))
        rows[`${name}, ${library}`] = row;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return rows;
}
