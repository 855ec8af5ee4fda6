// The addresses of the modules that only run programs, as addresses.ts has those of the whole.
import { addressesOf } from "./locate.js";
import { RUNTIME } from "./builds.js";

/** The address of a flavour; undefined in a CommonJS bundle. */
export const nextToThis = addressesOf(RUNTIME.files, {
  simd: () => new URL("./run.wasm", import.meta.url),
  relaxed: () => new URL("./run-relaxed.wasm", import.meta.url),
  threads: () => new URL("./run-threads.wasm", import.meta.url),
  "relaxed-threads": () => new URL("./run-relaxed-threads.wasm", import.meta.url),
});
