// The objects that own an instance of the module have these members in common: engines and runtimes.
import { Disposing } from "../base/dispose.js";
import type { Summary } from "../base/shown.js";
import type { Backend, Capabilities, ModuleUrl, OwnOperator } from "../types/index.js";
import type { Core } from "./core.js";
import { importBackend, registerBackend } from "./register_backend.js";
import { importOperators, registerOperator } from "./register_operator.js";

/** The members that an engine and a runtime share. */
export abstract class CoreOwner extends Disposing {
  readonly version: string;

  constructor(protected readonly core: Core) {
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

  registerBackend<State>(backend: Backend<State>): void {
    registerBackend(this.core, backend as Backend);
  }

  importBackend(module: ModuleUrl): Promise<string> {
    return importBackend(this.core, module);
  }

  registerOperator(operator: OwnOperator): void {
    registerOperator(this.core, operator);
  }

  importOperators(module: ModuleUrl): Promise<string[]> {
    return importOperators(this.core, module);
  }

  dispose(): void {
    this.core.kill();
  }
}
