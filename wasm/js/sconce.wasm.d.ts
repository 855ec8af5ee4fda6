// The type of `import wasm from "sconce/sconce.wasm"`, and of the other flavours, on hosts that import
// modules of WebAssembly: edge functions, and bundlers for them.
import type { WasmModule } from "./types/host.js";

/**
 * The compiled module, as `createEngine` takes it.
 * @example
 * import { createEngine } from "sconce";
 * import wasm from "sconce/sconce.wasm";
 *
 * const engine = await createEngine({ wasm });
 */
declare const wasm: WasmModule;
export default wasm;
