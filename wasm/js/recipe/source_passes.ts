// Passes over programs before decomposition: each list makes the next programs, of which the next one is
// asked.
import { jsonFor } from "../base/check.js";
import { OpenedManager } from "../lower/compile.js";
import { programCall } from "../lower/program_call.js";
import type { Job } from "../module/job.js";
import { HostFunctions } from "../pass/run.js";
import { places } from "../module/place.js";
import type { CallOptions, ExportedProgram, OpenedPrograms, Pass } from "../types/index.js";

/** The opened programs of another version of a job. */
export const openedAt = (job: Job, program: number, { methods }: OpenedPrograms): OpenedManager =>
  new OpenedManager(job.retain(), program, methods);

/** The same programs, to be disposed by themselves. */
export function openedAgain(opened: OpenedPrograms): OpenedManager {
  const { job, program } = places.get(opened)!();
  return openedAt(job, program, opened);
}

/**
 * The programs after the passes that `ask` gives for each method, with the program as it then is. They
 * are the same object where no pass ran, and otherwise the caller's to dispose.
 */
export function transformSources<T extends OpenedPrograms>(
  opened: T,
  what: string,
  ask: (program: ExportedProgram) => readonly Pass[],
  call: CallOptions = {},
): T | OpenedManager {
  const { job, program } = places.get(opened)!();
  let made = program;
  for (const method of opened.methods) {
    const passes = ask(opened.exportedProgram(method));
    if (passes.length === 0) continue;
    const host = new HostFunctions(job);
    const json = jsonFor(what, host.entries(passes, true));
    made = programCall(job, host.options(call), [method, json], (raw, s, t, out) =>
      raw.compile_transform_source(s, made, t[0]!, t[1]!, t[2]!, t[3]!, out),
    );
  }
  return made === program ? opened : openedAt(job, made, opened);
}
