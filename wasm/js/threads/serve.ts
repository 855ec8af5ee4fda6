// A thread of an engine: an instance of the engine's module on the engine's memory, which serves until
// the engine ends.
import type { RawExports } from "../border/abi.gen.js";
import { isObject } from "../base/check.js";
import { messageOf } from "../base/errors.js";

/** The first message to a thread. */
export interface ThreadStart {
  type: "thread";
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  /** The number of the thread, from 1. */
  thread: number;
  /** The address of its stack, and the bytes of that. */
  stack: number;
  stackBytes: number;
}

/** True for the first message to a thread. */
export const isThreadStart = (message: unknown): message is ThreadStart =>
  isObject(message) && message["type"] === "thread";

/** Functions of Emscripten in modules with threads. */
interface ThreadExports extends RawExports {
  /** Takes the thread's number first from Emscripten 5 on, then the address and the bytes of its stack. */
  readonly _emscripten_wasm_worker_initialize: (...args: number[]) => void;
}

/** The imports of Emscripten in modules with threads. */
export const threadImports = (memory: WebAssembly.Memory): WebAssembly.ModuleImports => ({
  memory,
  __do_set_thread_state: () => undefined,
});

/** Kernels call nothing of the host; a panic is the only call that can happen. */
function noHost(module: WebAssembly.Module): WebAssembly.ModuleImports {
  const refuse = (): never => {
    throw new Error("a thread called its host");
  };
  const names = WebAssembly.Module.imports(module).filter((one) => one.module === "sconce");
  return Object.fromEntries(names.map(({ name }) => [name, refuse]));
}

/** Serves until the engine ends. Gives the reason if it breaks before, and undefined if it does not. */
export function serveAsThread(start: ThreadStart): string | undefined {
  const { module, memory, thread, stack, stackBytes } = start;
  // The start-up code ran on the engine's own thread.
  const { exports } = new WebAssembly.Instance(module, {
    env: threadImports(memory),
    sconce: noHost(module),
  });
  const raw = exports as unknown as ThreadExports;
  const initialize = raw._emscripten_wasm_worker_initialize;
  const own = [thread, stack, stackBytes];
  initialize(...own.slice(own.length - initialize.length));
  try {
    raw.parallel_serve(thread);
    return undefined;
  } catch (error) {
    raw.parallel_fail();
    return messageOf(error);
  }
}
