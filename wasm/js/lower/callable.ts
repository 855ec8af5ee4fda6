// A program of a manager, loaded on the kernels: for a test of a pass, for instance.
import { Job } from "../module/job.js";
import { LoadedProgram, loadProgram } from "../program/loaded.js";
import type { Core } from "../module/core.js";
import type { ExecutorchProgramManager, Inputs, Value } from "../types/index.js";

/** A program whose methods can be called, each time from the state that the file has. */
export interface Callable {
  call(method: string, inputs: Inputs): Value[];
  dispose(): void;
}

/**
 * Loads a lowered program, which may be disposed of afterwards. Calls leave out the first outputs of
 * a method, as many as `writtenOf` says: inputs that it writes.
 */
export function callable(
  core: Core,
  lowered: ExecutorchProgramManager,
  writtenOf: ReadonlyMap<string, number>,
): Callable {
  const job = new Job(core);
  try {
    const program = loadProgram(job, lowered, {}, LoadedProgram);
    return {
      call(method, inputs) {
        program.reset();
        return program.run(method, inputs).slice(writtenOf.get(method));
      },
      dispose: () => program.dispose(),
    };
  } catch (error) {
    job.release();
    throw error;
  }
}
