// The types of bundled programs: files with a program, calls of its methods, and the expected
// results.
import type { Inputs, LoadOptions } from "./call.js";
import type { CallOptions } from "./call_options.js";
import type { DelegateFilter, RecordedEvents } from "./events.js";
import type { Value } from "./tensor.js";

/** A call of a method, from the program's first state. */
export interface TestCase {
  /** One value per flattened input: a tensor, number, bigint or boolean. */
  readonly inputs: readonly Value[];
  /**
   * The expected results, tensors only. If absent, the call runs when it is bundled, and its
   * results are used. Null: no results are expected.
   */
  readonly expectedOutputs?: readonly Value[] | null;
}

/** The test cases of one method. */
export interface TestSuite {
  /** The method that all of its cases call. */
  readonly methodName: string;
  /** The calls, in order. */
  readonly testCases: readonly TestCase[];
}

/** A test case as `Engine.bundle()` takes it: inputs are in order, or by name. */
export interface GivenTestCase extends Omit<TestCase, "inputs"> {
  readonly inputs: Inputs;
}

/** The test cases of one method as `Engine.bundle()` takes them. */
export interface GivenTestSuite {
  readonly methodName: string;
  readonly testCases: readonly GivenTestCase[];
}

/** Options of `Engine.bundle()`. */
export type BundleOptions = LoadOptions;

/** Options of `Program.verify()`. */
export interface VerifyOptions extends CallOptions {
  /** The relative tolerance of a float; 1e-5 by default. */
  rtol?: number;
  /**
   * The absolute tolerance, which is added; 1e-8 by default. If both are 0, floats must be equal.
   */
  atol?: number;
  /** Runs only the cases of this method; by default those of all methods. */
  method?: string;
  /** Records the runs for `etdump()`, with the number of each case. */
  events?: RecordedEvents;
  /** As for `run()`. */
  delegateValues?: DelegateFilter;
}

/** The difference between an output and the expected one. */
export interface OutputVerdict {
  /**
   * True if the output is close by the official rules. Floats, doubles and halves must be within
   * atol + rtol * |expected|, and NaN equals NaN. All other dtypes, bfloat16 too, must be equal
   * byte for byte.
   */
  isClose: boolean;
  /** The property that differs, other than the elements. Null if all agree. */
  whyNot: "dtype" | "sizes" | "strides" | "kind" | null;
  /** The number of compared elements. */
  elements: number;
  /** The number of elements that are not close. */
  mismatches: number;
  /** The index of the largest difference in row-major order. */
  worst: number;
  /**
   * The largest difference. Null if one of two elements is not finite and the other is not the
   * same.
   */
  maxAbsolute: number | null;
  /** The largest difference as a share of the expected value; null as for `maxAbsolute`. */
  maxRelative: number | null;
  /** The mean difference; null as for `maxAbsolute`. */
  meanAbsolute: number | null;
}

/** The result of a test case. */
export interface CaseVerdict {
  /** The method that was called. */
  methodName: string;
  /** The index of the case in the suite of the method. */
  testCase: number;
  /** One for each output. Empty if no results are expected. */
  outputs: OutputVerdict[];
}
