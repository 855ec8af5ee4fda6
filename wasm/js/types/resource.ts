// The type of objects that hold memory of the module.
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Anything that holds wasm memory. Use after dispose throws the code "disposed". The managers of one
 * compilation (opened, edge, executorch) share theirs, because each of them shows every program made
 * so far: it goes back when the last of them is disposed. Trying many configs on one edge manager
 * adds a program each time; `lower` from the file keeps none.
 * A callback may dispose anything: what a call under way still needs is freed when it returns.
 */
export interface Resource {
  /** Gives the memory back. A second call has no effect. */
  dispose(): void;
  /** The same, for `using`. */
  [Symbol.dispose](): void;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
