// A program of a manager, run on the kernels: for a test of a pass, for instance.
import { Job } from "../module/job.js";
import { dtypesOf } from "../program/dtype_table.js";
import { loadProgram } from "../program/program.js";
import type { Core } from "../module/core.js";
import type { ExecutorchProgramManager, Inputs, Value } from "../types/index.js";

/** The outputs of one call; inputs that the method writes are not among them. */
export function runMethod(
  core: Core,
  lowered: ExecutorchProgramManager,
  method: string,
  inputs: Inputs,
): Value[] {
  const job = new Job(core);
  try {
    const program = loadProgram(job, lowered, {}, dtypesOf(job));
    const { outputs } = program.inspect().methods.find(({ name }) => name === method)!;
    const values = program.run(method, inputs);
    return values.filter((_, i) => outputs[i]!.ofInput === undefined);
  } finally {
    job.release();
  }
}
