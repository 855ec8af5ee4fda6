// Test suites of a bundled program: values as JSON with one block of bytes.
import type { HostOptions } from "../module/core.js";
import type { Job } from "../module/job.js";
import { SconceError } from "../base/errors.js";
import { camelKeys } from "../base/keys.js";
import type { DTypeTable } from "./dtype_table.js";
import { tensorOf } from "../tensor/bytes.js";
import type { OutputVerdict, TestSuite, Value } from "../types/index.js";

/** A value as the core has it. */
export type Plain =
  | { dtype: number; sizes: number[]; at: number; bytes: number }
  | { int: string }
  | { double: number | string }
  | { bool: boolean };

/** A suite as the core has it. */
export interface PlainSuite {
  method: string;
  cases: { inputs: Plain[]; expected: Plain[] | null }[];
}

function fromPlain(job: Job, dtypes: DTypeTable, plain: Plain): Value {
  if ("bool" in plain) return plain.bool;
  if ("double" in plain) return Number(plain.double);
  if ("int" in plain) {
    const value = Number(plain.int);
    return Number.isSafeInteger(value) ? value : BigInt(plain.int);
  }
  const dtype = dtypes.name(plain.dtype);
  return tensorOf(dtype, plain.sizes, job.core.memory.copy(plain.at, plain.bytes));
}

/** The test suites of the program that the job runs. */
export function readSuites(job: Job, dtypes: DTypeTable): TestSuite[] {
  const suites = JSON.parse(job.textOf((raw, s) => raw.bundle_read(s))) as PlainSuite[];
  const values = (list: Plain[]): Value[] => list.map((item) => fromPlain(job, dtypes, item));
  return suites.map(({ method, cases }) => ({
    methodName: method,
    testCases: cases.map(({ inputs, expected }) => ({
      inputs: values(inputs),
      expectedOutputs: expected?.length ? values(expected) : null,
    })),
  }));
}

/** Runs one case of the program that the job runs. */
export function verifyCase(
  job: Job,
  suite: number,
  testCase: number,
  options: HostOptions & { rtol: number; atol: number },
): OutputVerdict[] {
  const { rtol, atol, ...call } = options;
  const text = job.textOf((raw, s) => raw.bundle_verify(s, suite, testCase, rtol, atol), call);
  return camelKeys(JSON.parse(text)) as OutputVerdict[];
}

/** The error of a program without test suites. */
export function notBundled(): SconceError {
  return new SconceError(
    "state",
    "the program has no test suites",
    "Open a bundled program (.bpte), or make one: sconce bundle.",
  );
}

/** Throws unless there are test cases of the method. */
export function checkSuiteOf(suites: readonly TestSuite[], method: string): void {
  const names = suites.map(({ methodName }) => methodName);
  if (names.includes(method)) return;
  throw new SconceError(
    "not_found",
    `the bundle has no cases of method '${method}'`,
    `It has cases of ${names.join(", ")}.`,
  );
}
