// The addresses of the modules that only run programs, as addresses.ts has those of the whole.
import { isCached, nextToScript } from "./locate.js";
import { RUNTIME } from "./builds.js";
import type { ModuleFlavour } from "./types/index.js";

const LITERALS: Readonly<Record<ModuleFlavour, () => URL>> = {
  simd: () => new URL("./run.wasm", import.meta.url),
  relaxed: () => new URL("./run-relaxed.wasm", import.meta.url),
  threads: () => new URL("./run-threads.wasm", import.meta.url),
  "relaxed-threads": () => new URL("./run-relaxed-threads.wasm", import.meta.url),
};

/** The address of a flavour; undefined in a CommonJS bundle. Bundlers may put a relative one in its place. */
export function nextToThis(flavour: ModuleFlavour): string | undefined {
  if (isCached) return nextToScript(RUNTIME.files[flavour]);
  try {
    return LITERALS[flavour]().href;
  } catch {
    return undefined; // its scripts have no address
  }
}
