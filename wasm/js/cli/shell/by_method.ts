// Flags that are for all methods, or for one: NAME and METHOD=NAME.
import { UsageError } from "../usage.js";

/** Names by method, "" for all methods, in the order given. */
export type MethodFlags = readonly (readonly [method: string, name: string])[];

/** NAME or METHOD=NAME. Names of methods may hold a "=", the others not. */
export function readByMethod(flag: string, flags: readonly string[]): MethodFlags {
  return flags.map((text) => {
    const at = text.lastIndexOf("=");
    const [method, name] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
    if (name === "" || at === 0)
      throw new UsageError(`--${flag} takes NAME or METHOD=NAME, not '${text}'`);
    return [method, name];
  });
}
