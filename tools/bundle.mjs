// The library as single files, for CDNs, copies of assets, and every bundler's worker:
//   worker.js   the worker's script, in the place of the one that the compiler made
//   run-worker.js   the same of a runtime's worker
//   sconce.js   the whole library for a page
// They look for their modules in their own folder, and sconce.js looks for worker.js there too.
import { writeFileSync } from "node:fs";
import { rolldown } from "rolldown";
import { inRoot } from "./steps.mjs";

const FILES = [
  { input: "worker", output: "worker" },
  { input: "run-worker", output: "run-worker" },
  { input: "index", output: "sconce" },
];

// Some bundlers find an asset only by a string in quotes, and minifying writes templates.
const ASSET = /new URL\(`(\.\/[\w.-]+)`,import\.meta\.url\)/g;

async function bundleOne({ input, output }) {
  const made = await rolldown({
    input: inRoot(`wasm/js/${input}.ts`),
    platform: "browser",
    resolve: { extensionAlias: { ".js": [".ts"] } },
    // Everything is ours: a module that is not found is a mistake, not somebody else's.
    onLog(level, log, handler) {
      if (level === "warn") throw new Error(log.message);
      handler(level, log);
    },
  });
  const { output: chunks } = await made.generate({
    file: `${output}.js`,
    format: "esm",
    minify: true,
    sourcemap: true,
    codeSplitting: false,
  });
  await made.close();
  const [{ code, map }] = chunks;
  const path = inRoot(`dist/${output}.js`);
  // As many characters as before, so that the map stays true.
  writeFileSync(path, code.replaceAll(ASSET, 'new URL("$1",import.meta.url)'));
  // The package has the sources themselves, once for all maps.
  const sources = map.sources.map((source) => `../${source}`);
  writeFileSync(`${path}.map`, JSON.stringify({ ...map, sources, sourcesContent: undefined }));
}

export async function bundleLibrary() {
  for (const file of FILES) await bundleOne(file);
}
