// npm run build: everything that ships, into dist/. With --clean, from nothing.
//   sconce.wasm          the module
//   *.js *.d.ts          the library and the command, from wasm/js
//   web/                 the page
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";
import { StepFailed, bin, buildPreset, inRoot, run, script, setUp } from "./steps.mjs";

export function buildWasm() {
  buildPreset("wasm");
  mkdirSync(inRoot("dist"), { recursive: true });
  copyFileSync(inRoot("build/wasm/sconce.wasm"), inRoot("dist/sconce.wasm"));
  const bytes = readFileSync(inRoot("dist/sconce.wasm"));
  const [plain, packed] = [bytes, brotliCompressSync(bytes)].map(
    (data) => `${(data.length / 1000).toFixed(0)} kB`,
  );
  console.log(`dist/sconce.wasm: ${plain}, ${packed} with brotli`);
}

export function buildLibrary() {
  run("node", ["wasm/abigen.mjs"]);
  run(bin("tsc"), ["-p", "tsconfig.json"]);
  if (existsSync(inRoot("dist/cli.js"))) chmodSync(inRoot("dist/cli.js"), 0o755);
}

export function buildPage() {
  if (!existsSync(inRoot("web/index.html"))) throw new StepFailed("no page: web/index.html");
  run(bin("vite"), [
    "build",
    "web",
    "--outDir",
    "../dist/web",
    "--emptyOutDir",
    "--logLevel",
    "warn",
  ]);
}

// The library and the command, without the page.
export function buildPackage() {
  setUp("wasm", "node");
  buildWasm();
  buildLibrary();
}

export function build() {
  buildPackage();
  buildPage();
}

if (process.argv[1] === inRoot("tools/build.mjs")) {
  await script((args) => {
    if (args.includes("--clean")) rmSync(inRoot("dist"), { recursive: true, force: true });
    build();
  });
}
