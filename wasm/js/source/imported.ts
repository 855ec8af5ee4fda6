// Modules of the caller's own: backends and passes.
import { badArgument, isObject } from "../base/check.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import { importModule } from "../base/host.js";
import type { ModuleUrl } from "../types/index.js";
import { absoluteUrl } from "./address.js";
import { isPlace } from "./kinds.js";

/** The exports of a module; `call` names who asks for it. Fails with the code "io" without one. */
export async function imported(call: string, module: ModuleUrl): Promise<Record<string, unknown>> {
  const url: unknown = isPlace(module) ? module : isObject(module) && module.url;
  if (!isPlace(url)) throw badArgument(`the module of ${call}`, "a URL, or { url }", module);
  const address = absoluteUrl(String(url));
  try {
    return await importModule<Record<string, unknown>>(address);
  } catch (error) {
    throw withCause(
      new SconceError(
        "io",
        `the module ${address} cannot be imported: ${messageOf(error)}`,
        "Pass the URL of a JavaScript module: its default export is a backend, its objects with a schema are operators, its functions are passes, its objects with a function partition are partitioners.",
      ),
      error,
    );
  }
}
