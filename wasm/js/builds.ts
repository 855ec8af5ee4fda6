// The builds of the package: the whole, and the one that only runs programs. Their types need no
// WebAssembly, because declarations that callers see name them.
import type { ModuleFlavour } from "./types/index.js";

/** A build of the package: what it is called, and its files in the folder of the package's scripts. */
export interface Build {
  /** Its kind among the objects that workers serve. */
  readonly kind: "Engine" | "Runtime";
  /** The function that makes it. */
  readonly create: "createEngine" | "createRuntime";
  /** The modules, by flavour. */
  readonly files: Readonly<Record<ModuleFlavour, string>>;
  /** The script of its workers and threads. */
  readonly worker: "worker.js" | "run-worker.js";
  /** The function that starts it in a worker. */
  readonly client: "createClient" | "createRuntimeClient";
  /** A function that its modules export, and others do not. */
  readonly exports: "compile_open" | "run_open";
}

/** The whole: lowering, running, tools. */
export const ENGINE: Build = {
  kind: "Engine",
  create: "createEngine",
  files: {
    simd: "sconce.wasm",
    relaxed: "relaxed.wasm",
    threads: "threads.wasm",
    "relaxed-threads": "relaxed-threads.wasm",
  },
  worker: "worker.js",
  client: "createClient",
  exports: "compile_open",
};

/** Running alone. */
export const RUNTIME: Build = {
  kind: "Runtime",
  create: "createRuntime",
  files: {
    simd: "run.wasm",
    relaxed: "run-relaxed.wasm",
    threads: "run-threads.wasm",
    "relaxed-threads": "run-relaxed-threads.wasm",
  },
  worker: "run-worker.js",
  client: "createRuntimeClient",
  exports: "run_open",
};
