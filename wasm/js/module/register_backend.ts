// Registers backends that callers write, with an engine or a runtime.
import { SconceError } from "../base/errors.js";
import type { Core } from "./core.js";
import { inJob } from "./job.js";
import { imported } from "../source/imported.js";
import type { Backend, ModuleUrl } from "../types/index.js";

/** Adds a backend for as long as the core lives. */
export function registerBackend(core: Core, backend: Backend): void {
  core.backends.add(backend, (number) =>
    inJob(
      core,
      (job) =>
        core.memory.withTexts([backend.id], (id, bytes) =>
          job.call({}, (raw, s) =>
            raw.backend_register(s, id!, bytes!, number, backend.keeps ? 1 : 0),
          ),
        ),
      false,
    ),
  );
}

/** Adds the backend that is the default export of a module. Gives its id. */
export async function importBackend(core: Core, module: ModuleUrl): Promise<string> {
  const { default: found } = await imported("importBackend()", module);
  if (found === undefined)
    throw new SconceError(
      "argument",
      "the module of importBackend() has no default export",
      "Write `export default { id, supports, preprocess, init, execute }`.",
    );
  registerBackend(core, found as Backend);
  return (found as Backend).id;
}
