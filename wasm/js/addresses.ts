// The addresses of the module's flavours, next to this script. Bundlers look for the expressions below, word
// for word, and take the files along. Edge functions leave this file out: they import the module that they
// name, and their bundlers would compile all of them.
import { isCached, nextToScript } from "./locate.js";
import { ENGINE } from "./builds.js";
import type { ModuleFlavour } from "./types/index.js";

const LITERALS: Readonly<Record<ModuleFlavour, () => URL>> = {
  simd: () => new URL("./sconce.wasm", import.meta.url),
  relaxed: () => new URL("./relaxed.wasm", import.meta.url),
  threads: () => new URL("./threads.wasm", import.meta.url),
  "relaxed-threads": () => new URL("./relaxed-threads.wasm", import.meta.url),
};

/** The address of a flavour; undefined in a CommonJS bundle. Bundlers may put a relative one in its place. */
export function nextToThis(flavour: ModuleFlavour): string | undefined {
  if (isCached) return nextToScript(ENGINE.files[flavour]);
  try {
    return LITERALS[flavour]().href;
  } catch {
    return undefined; // its scripts have no address
  }
}
