// A runtime: loads and runs programs, synchronously and on this thread. Its module has neither the
// compiler nor the tools.
import { importBackend, registerBackend } from "./module/register_backend.js";
import { checkTable, ENGINE_OPTIONS } from "./base/check.js";
import { Disposing } from "./base/dispose.js";
import { prepareHost } from "./base/host.js";
import { showAs, type Summary } from "./base/shown.js";
import { checkOptions } from "./call/protocol.js";
import { RUNTIME } from "./builds.js";
import type { AddressOf } from "./loader.js";
import { Core } from "./module/core.js";
import { inJob } from "./module/job.js";
import { LoadedProgram, loadProgram } from "./program/loaded.js";
import type {
  Backend,
  Capabilities,
  LoadOptions,
  ModuleUrl,
  Runtime,
  RuntimeOptions,
  RuntimeProgram,
  Source,
} from "./types/index.js";

class SyncRuntime extends Disposing implements Runtime {
  readonly [Symbol.toStringTag] = "Runtime";
  readonly version: string;

  constructor(private readonly core: Core) {
    super();
    this.version = core.memory.zeroTerminated(core.raw.version());
  }

  capabilities(): Capabilities {
    return this.core.capabilities();
  }

  /** The parts that a person wants to see of it; throws once it is disposed. */
  summary(): Summary {
    const { version, core } = this;
    const heapBytes = core.enter(undefined, {}, () => core.memory.heapBytes);
    return { version, binary: core.flavour, heapBytes };
  }

  heapBytes(): number {
    return this.core.memory.heapBytes;
  }

  load(pte: Source, options: LoadOptions = {}): RuntimeProgram {
    checkOptions("Runtime", "load", options);
    const open = (job: Parameters<typeof loadProgram>[0]): LoadedProgram => {
      const program = loadProgram(job, pte, options, LoadedProgram);
      job.own(program);
      return program;
    };
    return inJob(this.core, open, true);
  }

  registerBackend<State>(backend: Backend<State>): void {
    registerBackend(this.core, backend as Backend);
  }

  importBackend(module: ModuleUrl): Promise<string> {
    return importBackend(this.core, module);
  }

  dispose(): void {
    this.core.kill();
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
