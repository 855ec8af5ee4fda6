// Calls that make a program.
import type { Job } from "../module/job.js";
import type { HostOptions } from "../module/core.js";

/** A call with text arguments whose result is the number of the program it made. */
export function programCall(
  job: Job,
  options: HostOptions,
  texts: readonly string[],
  body: (raw: Job["core"]["raw"], s: number, texts: readonly number[], out: number) => number,
): number {
  const { memory } = job.core;
  return memory.with(8, (out) =>
    memory.withTexts(texts, (...pairs) => {
      job.call(options, (raw, s) => body(raw, s, pairs, out));
      return memory.number(out);
    }),
  );
}
