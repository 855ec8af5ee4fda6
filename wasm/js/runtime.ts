// A runtime: loads and runs programs, synchronously and on this thread. Its module has neither the
// compiler nor the tools.
import { checkTable, ENGINE_OPTIONS } from "./base/check.js";
import { prepareHost } from "./base/host.js";
import { showAs } from "./base/shown.js";
import { checkOptions } from "./call/protocol.js";
import { RUNTIME } from "./builds.js";
import type { AddressOf } from "./loader.js";
import { Core } from "./module/core.js";
import { inJob } from "./module/job.js";
import { CoreOwner } from "./module/core_owner.js";
import { LoadedProgram, loadProgram } from "./program/loaded.js";
import type {
  LoadOptions,
  Runtime,
  RuntimeOptions,
  RuntimeProgram,
  Source,
} from "./types/index.js";

class SyncRuntime extends CoreOwner implements Runtime {
  readonly [Symbol.toStringTag] = "Runtime";

  load(pte: Source, options: LoadOptions = {}): RuntimeProgram {
    checkOptions("Runtime", "load", options);
    const open = (job: Parameters<typeof loadProgram>[0]): LoadedProgram => {
      const program = loadProgram(job, pte, options, LoadedProgram);
      job.own(program);
      return program;
    };
    return inJob(this.core, open, true);
  }
}

showAs(SyncRuntime.prototype, "Runtime", (runtime) => runtime.summary());

/** Makes a runtime, with the module that the options have or one of those at these addresses. */
export async function makeRuntime(
  options: RuntimeOptions,
  of: AddressOf | undefined,
): Promise<Runtime> {
  checkTable("createRuntime()", options, ENGINE_OPTIONS);
  await prepareHost();
  return new SyncRuntime(await Core.create(options, { build: RUNTIME, of }));
}
