// The type of objects that hold memory of the module.
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * An object that holds memory of the module. Using it after `dispose` fails with the code
 * "disposed". The managers of one compilation (opened, edge, executorch) share their memory,
 * because each of them shows every program so far. It is freed when the last of them is disposed
 * of. Each call with another config on one edge manager adds a program. `lower` from the file keeps
 * no program. A callback may dispose of any object. Memory that the current call still needs is
 * freed when it returns.
 */
export interface Resource {
  /** Frees the memory. A second call has no effect. */
  dispose(): void;
  /** The same, for `using`. */
  [Symbol.dispose](): void;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
