// The standard's way to give things back: `using` calls these members where the scope ends.
/// <reference lib="esnext.disposable" preserve="true" />

// Hosts that have no such symbol yet may get it from a polyfill that runs before this script.
/** `Symbol.dispose`, also where the host has none. */
export const DISPOSE: typeof Symbol.dispose =
  (Symbol.dispose as typeof Symbol.dispose | undefined) ??
  (Symbol.for("Symbol.dispose") as typeof Symbol.dispose);
/** `Symbol.asyncDispose`, also where the host has none. */
export const ASYNC_DISPOSE: typeof Symbol.asyncDispose =
  (Symbol.asyncDispose as typeof Symbol.asyncDispose | undefined) ??
  (Symbol.for("Symbol.asyncDispose") as typeof Symbol.asyncDispose);

/** Gives every class with `dispose()` the members that `using` and `await using` call. */
export abstract class Disposing {
  abstract dispose(): void;

  [DISPOSE](): void {
    this.dispose();
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return new Promise((resolve) => resolve(this.dispose()));
  }
}
