// npm run build: everything that ships, into dist/. With --clean, from nothing; with --verbose, with
// all that the compilers say.
//   *.wasm               the module, in its flavours
//   *.js *.d.ts          the library and the command, from wasm/js
//   web/                 the page, for a checkout: a folder for any static server, with its samples
//   web/docs/            the documentation, for a checkout: pages that need no server
//   runtime.br           the sources of a runtime, for `sconce build-runtime`
//   studio.br, docs.br   both for the package: a compressed file each, for `sconce studio` and `docs`
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { parseArgs, promisify } from "node:util";
import { brotliCompress } from "node:zlib";
import { quietly, step, together } from "./progress.mjs";
import { announce, due, makePreset, start } from "./setup.mjs";
import { bin, inRoot, script } from "./steps.mjs";

const kilobytes = (data) => `${(data.length / 1000).toFixed(0)} kB`;

// The flavours of the module (CMakeLists.txt).
const FLAVOURS = ["relaxed", "threads", "relaxed-threads"];
export const MODULES = [
  "sconce.wasm",
  ...FLAVOURS.map((name) => `${name}.wasm`),
  "run.wasm",
  ...FLAVOURS.map((name) => `run-${name}.wasm`),
];

// Puts a module into dist/ if it is another one.
function takeModule(name) {
  const [made, taken] = [inRoot("build/wasm", name), inRoot("dist", name)];
  const bytes = readFileSync(made);
  if (existsSync(taken) && bytes.equals(readFileSync(taken))) return false;
  mkdirSync(inRoot("dist"), { recursive: true });
  writeFileSync(taken, bytes);
  return true;
}

// Says the sizes of the whole and of the one that only runs programs, if any module is new.
async function takeModules() {
  if (!MODULES.map(takeModule).includes(true)) return undefined;
  const sizes = ["sconce.wasm", "run.wasm"].map(async (name) => {
    const bytes = readFileSync(inRoot("dist", name));
    const packed = await promisify(brotliCompress)(bytes);
    return `${name} ${kilobytes(bytes)}, ${kilobytes(packed)} with brotli`;
  });
  return (await Promise.all(sizes)).join("; ");
}

export function buildWasm() {
  return step("sconce.wasm and its flavours", async (note) => {
    await makePreset("wasm", note);
    return takeModules();
  });
}

export function buildLibrary() {
  return step("the library and the command", async () => {
    await quietly("node", ["wasm/abigen.mjs"]);
    await quietly(bin("tsc"), ["-p", "tsconfig.json"]);
    // The compiler does not emit declarations that are written by hand.
    for (const name of MODULES)
      copyFileSync(inRoot("wasm/js/sconce.wasm.d.ts"), inRoot(`dist/${name}.d.ts`));
    // Not at the top: a fresh checkout has no npm packages yet.
    const { bundleLibrary } = await import("./bundle.mjs");
    await bundleLibrary();
    chmodSync(inRoot("dist/cli.js"), 0o755);
  });
}

export function buildPage() {
  const into = ["--outDir", "../dist/web", "--emptyOutDir", "--logLevel", "warn"];
  return step("the page", async () => {
    // The bundler only drops types; the compiler is who checks them.
    await quietly(bin("tsc"), ["--noEmit", "-p", "web/tsconfig.json"]);
    await quietly(bin("vite"), ["build", "web", ...into]);
    return packPage();
  });
}

// The package ships the module once, the documentation once, and the bundled models not at all.
const leftOut = /^\/(models|docs)\/|^\/assets\/.*\.wasm$/;

async function packPage() {
  const { packFiles } = await import(inRoot("dist/cli/studio/archive.js"));
  const folder = inRoot("dist/web");
  const names = readdirSync(folder, { recursive: true })
    .map((name) => `/${name.replaceAll("\\", "/")}`)
    .filter((name) => !leftOut.test(name) && statSync(folder + name).isFile())
    .sort();
  const archive = packFiles(new Map(names.map((name) => [name, readFileSync(folder + name)])));
  writeFileSync(inRoot("dist/studio.br"), archive);
  return `${names.length} files, ${kilobytes(archive)} as one`;
}

// The sources of a runtime, without the compiler, as one file for the package.
const RUNTIME_SOURCES = [
  /^src\/(base|core|format|observe|ops|compute|kernels|rt|devtools\/(bundled|etdump))\/.*\.(c|h|def|inc)$/,
  /^src\/devtools\/[^/]*\.h$/,
  /^src\/backends\/(backends\.def|\w+\/(run\/)?[^/]*\.(c|h|def))$/,
  /^src\/api\/(job|run|bundle)\/(?!write\.c).*\.(c|h)$/,
  /^src\/sconce\.h$/,
  /^wasm\/(exports|exports_run|memory)\.c$|^wasm\/(exports|numbers)\.h$/,
  /^wasm\/(imports\.def|emscripten\.json|kept_ops\.mjs|tablegen\.mjs)$/,
];

async function packRuntime() {
  const { packFiles } = await import(inRoot("dist/cli/studio/archive.js"));
  const below = (folder) =>
    readdirSync(inRoot(folder), { recursive: true }).map((name) => `${folder}/${name}`);
  const names = [...below("src"), ...below("wasm")].map((name) => name.replaceAll("\\", "/"));
  const wanted = names.filter((name) => RUNTIME_SOURCES.some((pattern) => pattern.test(name)));
  const made = below("build/wasm/gen");
  const files = new Map([
    ...wanted.sort().map((name) => [`/${name}`, readFileSync(inRoot(name))]),
    ...made.sort().map((name) => [name.replace("build/wasm", ""), readFileSync(inRoot(name))]),
  ]);
  const archive = packFiles(files);
  writeFileSync(inRoot("dist/runtime.br"), archive);
  return `${files.size} files, ${kilobytes(archive)}`;
}

// After the module, whose build generates some of them, and the library, which packs them.
export function buildRuntimeSources() {
  return step("the sources of runtimes", packRuntime);
}

// After the page, whose build empties its folder.
export function buildDocs() {
  return step("the documentation", async () => {
    const { siteFiles, writeSite } = await import("./site/build.mjs");
    const { packFiles } = await import(inRoot("dist/cli/studio/archive.js"));
    const files = siteFiles();
    writeSite(inRoot("dist/web/docs"), files);
    const archive = packFiles(files);
    writeFileSync(inRoot("dist/docs.br"), archive);
    return `${files.size} files, ${kilobytes(archive)}`;
  });
}

// The library and the command, without the page. The module and the library do not wait for each
// other, nor does npm for Emscripten.
export async function buildPackage() {
  const works = due("wasm", "node");
  announce(works, existsSync(inRoot("build/wasm/sconce.wasm")) ? 0 : 60);
  const ready = start(works);
  await together(ready("libraries").then(buildWasm), ready("npm").then(buildLibrary));
  await buildRuntimeSources();
}

export async function build() {
  await buildPackage();
  await buildPage();
  await buildDocs();
}

if (process.argv[1] === inRoot("tools/build.mjs")) {
  await script(async (args) => {
    const options = { clean: { type: "boolean" }, verbose: { type: "boolean" } };
    const { values } = parseArgs({ args, options });
    if (values.clean) rmSync(inRoot("dist"), { recursive: true, force: true });
    await build();
  });
}
