// The files of weights as the core takes them: [pattern, file] by rule, or by name what a function says.
import { badArgument } from "../base/check.js";
import { messageOf, SconceError } from "../base/errors.js";
import { isFileName } from "../call/options.js";
import type { Job } from "../module/job.js";
import type { ChooseFile, ExternalConstants, WeightInfo } from "../types/index.js";

type Rule = readonly [pattern: string, file: string | null];

/** The weights that may lie outside of the program, each name once. */
const weightsOf = (job: Job, program: number): (WeightInfo & { readonly name: string })[] =>
  JSON.parse(job.textOf((raw, s) => raw.compile_weights(s, program))) as ReturnType<
    typeof weightsOf
  >;

function answerOf(choose: ChooseFile, name: string, weight: WeightInfo): unknown {
  try {
    return choose(name, weight) ?? null;
  } catch (error) {
    if (error instanceof SconceError) throw error;
    const thrown = new SconceError(
      "argument",
      `'externalConstants' threw for weight '${name}': ${messageOf(error)}`,
      "Correct the function: the `cause` of this error is what it threw.",
    );
    thrown.cause = error;
    throw thrown;
  }
}

function chosen(choose: ChooseFile, name: string, weight: WeightInfo): string | null {
  const file = answerOf(choose, name, weight);
  if (file === null || isFileName(file)) return file;
  throw badArgument(
    `the file that 'externalConstants' gives for weight '${name}'`,
    "the name of a file without a folder, or null",
    file,
  );
}

/** The option as the core takes it. */
type WeightFiles = boolean | readonly Rule[] | undefined;

/** The names of the files that rules name. */
export const namesOfFiles = (files: WeightFiles): ReadonlySet<string> =>
  new Set(
    typeof files === "object" ? files.flatMap(([, file]) => (file ? [`${file}.ptd`] : [])) : [],
  );

/** The option as the core takes it, for that program. */
export function weightFiles(
  job: Job,
  program: number,
  given: ExternalConstants | undefined,
): WeightFiles {
  if (typeof given === "boolean" || given === undefined) return given;
  if (typeof given !== "function") return Object.entries(given);
  const rules = weightsOf(job, program).map(({ name, ...weight }): Rule => [
    name,
    chosen(given, name, weight),
  ]);
  // A name is a pattern that fits itself; one with a * in it may fit others, which come first.
  const hasStar = ([name]: Rule): number => Number(name.includes("*"));
  return rules.sort((a, b) => hasStar(a) - hasStar(b));
}
