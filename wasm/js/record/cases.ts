// Values that records take from bundled programs: expected outputs of calls, and the inputs of one.
import { dtypesOf } from "../program/dtype_table.js";
import { notBundled, readSuites } from "../program/suites.js";
import { badArgument } from "../base/check.js";
import type { Core } from "../module/core.js";
import { Job } from "../module/job.js";
import { SconceError } from "../base/errors.js";
import { LoadedProgram, loadProgram } from "../program/loaded.js";
import { isSource } from "../source/kinds.js";
import type { RecordValue, Source, TestSuite } from "../types/index.js";

/** The calls in a bundled program. */
class BundledCases {
  private constructor(private readonly suites: readonly TestSuite[]) {}

  /** Opens it for as long as that takes. */
  static of(core: Core, bundled: Source): BundledCases {
    const job = new Job(core);
    try {
      const dtypes = dtypesOf(job);
      loadProgram(job, bundled, {}, LoadedProgram);
      const suites = readSuites(job, dtypes);
      if (suites.length === 0) throw notBundled();
      return new BundledCases(suites);
    } finally {
      job.release();
    }
  }

  /** The expected outputs of each case, by method. Every case must have some. */
  referenceOutputs(): Record<string, RecordValue[]> {
    return Object.fromEntries(
      this.suites.map(({ methodName, testCases }) => [
        methodName,
        testCases.map(({ expectedOutputs }, i) => {
          if (expectedOutputs) return expectedOutputs;
          throw new SconceError(
            "argument",
            `case ${i} of method '${methodName}' expects no outputs`,
            "Bundle it with expectedOutputs, or without the member: those of a run are taken then.",
          );
        }),
      ]),
    );
  }

  /** The inputs of the first case of `forward`; null where the bundle has no calls of it. */
  representativeInputs(): readonly RecordValue[] | null {
    const suite = this.suites.find(({ methodName }) => methodName === "forward");
    if (!suite) return null;
    const [first] = suite.testCases;
    if (first) return first.inputs;
    throw new SconceError(
      "argument",
      "the suite of method 'forward' has no cases",
      "Bundle a call of it, or leave the suite out.",
    );
  }
}

/** The calls, if `value` is a file at all. */
export function bundledCases(core: Core, value: unknown): BundledCases | undefined {
  return isSource(value) ? BundledCases.of(core, value) : undefined;
}

/** The calls in what has to be a bundled program. */
export function mustBeBundled(core: Core, what: string, value: unknown): BundledCases {
  if (!isSource(value)) throw badArgument(what, "a bundled program (.bpte)", value);
  return BundledCases.of(core, value);
}
