// The addresses of the module's flavours, next to this script. Bundlers look for the expressions below, word
// for word, and take the files along. Edge functions leave this file out: they import the module that they
// name, and their bundlers would compile all of them.
import { addressesOf } from "./locate.js";
import { ENGINE } from "./builds.js";

/** The address of a flavour; undefined in a CommonJS bundle. */
export const nextToThis = addressesOf(ENGINE.files, {
  simd: () => new URL("./sconce.wasm", import.meta.url),
  relaxed: () => new URL("./relaxed.wasm", import.meta.url),
  threads: () => new URL("./threads.wasm", import.meta.url),
  "relaxed-threads": () => new URL("./relaxed-threads.wasm", import.meta.url),
});
