// Programs as they come: sources by method name, inflated and opened on a job.
import { badArgument, KINDS, mustBe } from "../base/check.js";
import type { Core } from "../module/core.js";
import type { Job } from "../module/job.js";
import { SconceError } from "../base/errors.js";
import { inflate, inflateSync } from "../module/inflate.js";
import { gatherPrograms } from "../source/gather.js";
import { isSource, SOURCES } from "../source/kinds.js";
import type { CallOptions, Programs, Source } from "../types/index.js";

const FILES = `the source of a .pt2, or sources by method name: ${SOURCES}`;

/** The programs of a call as sources by method name, "" for a single one. */
export function listPrograms(programs: Programs): [string, Source][] {
  if (isSource(programs)) return [["", programs]];
  if (!KINDS.record.test(programs)) throw badArgument("the programs", FILES, programs);
  const list = Object.entries(programs);
  if (list.length === 0)
    throw new SconceError("argument", "there is no program to open", `Pass ${FILES}.`);
  for (const [method, source] of list) {
    if (!isSource(source)) throw badArgument(`the source of method '${method}'`, SOURCES, source);
    mustBe("name", "a method's name", method);
  }
  return list;
}

/** Throws unless these are programs to open, as far as that is known without reading them. */
export function checkPrograms(programs: Programs): void {
  listPrograms(programs);
}

const isCompressed = (error: unknown): error is SconceError =>
  error instanceof SconceError && error.code === "compressed";

/**
 * Opens a file as a method of the job. A compressed archive is inflated where that can be done at
 * once.
 */
export function openProgram(job: Job, method: string, source: Source, options: CallOptions): void {
  const open = (file: Source): void => {
    const handle = job.addSource(file, "the program");
    job.core.memory.withTexts([method, ""], (name, nameBytes, model, modelBytes) =>
      job.call(options, (raw, s) =>
        raw.compile_open(s, handle, name!, nameBytes!, model!, modelBytes!),
      ),
    );
  };
  try {
    open(source);
  } catch (error) {
    if (!isCompressed(error)) throw error;
    const inflated = inflateSync(job.core, source);
    if (inflated) return open(inflated);
    const hint = "Pass await engine.inflate(programs), or use the client, which does it by itself.";
    throw new SconceError("compressed", error.message, hint);
  }
}

/** Programs with compressed archives inflated; what takes time to be read is read. */
export async function inflatePrograms(core: Core, given: Programs): Promise<Programs> {
  checkPrograms(given);
  const programs = await gatherPrograms(given, {}, "the source");
  const inflated: [string, Source][] = [];
  for (const [method, source] of listPrograms(programs)) {
    const whole = await inflate(core, source).catch((error: unknown) => {
      throw error instanceof SconceError ? error.ofMethod(method) : error;
    });
    inflated.push([method, whole]);
  }
  return isSource(programs) ? inflated[0]![1] : Object.fromEntries(inflated);
}
