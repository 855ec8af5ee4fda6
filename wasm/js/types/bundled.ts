// Bundled programs: a program in one file with calls of its methods and what they should return.
import type { Inputs, LoadOptions } from "./call.js";
import type { CallOptions } from "./call_options.js";
import type { DelegateFilter, RecordedEvents } from "./events.js";
import type { Value } from "./tensor.js";

/** A call of a method, from the program's first state. */
export interface TestCase {
  /** One value per flattened input: a tensor, number, bigint or boolean. */
  readonly inputs: readonly Value[];
  /**
   * The results that it should return, tensors only. Without them the call runs when it is bundled, and
   * its results are taken; null: no results are expected.
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
  /** How far a float may be off, as a share of what is expected; 1e-5 by default. */
  rtol?: number;
  /** In addition to that, as an absolute number; 1e-8 by default. With both 0, floats must be equal. */
  atol?: number;
  /** Only the cases of this method; by default those of all. */
  method?: string;
  /** Records the runs for `etdump()`, with the number of each case. */
  events?: RecordedEvents;
  /** As for `run()`. */
  delegateValues?: DelegateFilter;
}

/** How far an output is from what was expected. */
export interface OutputVerdict {
  /**
   * Floats, doubles and halves within atol + rtol * |expected|, with NaN equal to NaN; all else equal
   * byte for byte, bfloat16 too: these are the official rules.
   */
  isClose: boolean;
  /** A property other than the elements that differs; null where they agree. */
  whyNot: "dtype" | "sizes" | "strides" | "kind" | null;
  /** The number of elements that were compared. */
  elements: number;
  /** How many of them are not close. */
  mismatches: number;
  /** The place of the largest difference, row by row. */
  worst: number;
  /** Differences; null where one of two is not a finite number and the other is not the same. */
  maxAbsolute: number | null;
  /** The largest difference as a share of what was expected; null as for `maxAbsolute`. */
  maxRelative: number | null;
  /** The mean difference; null as for `maxAbsolute`. */
  meanAbsolute: number | null;
}

/** The result of a test case. */
export interface CaseVerdict {
  /** The method that was called. */
  methodName: string;
  /** Its number in the suite of the method. */
  testCase: number;
  /** Empty where no results are expected. */
  outputs: OutputVerdict[];
}
