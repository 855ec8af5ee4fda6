// Test suites across the border: values as JSON with one block of bytes, in both directions.
import { badArgument, isObject, isPlain, mustBe, onlyHasKeys } from "../base/check.js";
import type { HostOptions } from "../module/core.js";
import type { Job } from "../module/job.js";
import { SconceError } from "../base/errors.js";
import { camelKeys } from "../base/keys.js";
import type { DTypeTable } from "./dtype_table.js";
import { checkInputs } from "./call.js";
import { bytesOf, isTensorLike, tensorOf } from "../tensor/bytes.js";
import type {
  GivenTestCase,
  GivenTestSuite,
  OutputVerdict,
  ProgramReport,
  ProgramValueInfo,
  TestSuite,
  Value,
} from "../types/index.js";

/** A value as the core has it. */
type Plain =
  | { dtype: number; sizes: number[]; at: number; bytes: number }
  | { int: string }
  | { double: number | string }
  | { bool: boolean };

interface PlainSuite {
  method: string;
  cases: { inputs: Plain[]; expected: Plain[] | null }[];
}

const ALIGN = 8;

/** Values as JSON, and the bytes of tensors behind one another. */
class Packer {
  private readonly parts: { at: number; bytes: Uint8Array }[] = [];
  private size = 0;

  constructor(private readonly dtypes: DTypeTable) {}

  value(value: unknown, what: string, declared: ProgramValueInfo | undefined): Plain {
    if (isTensorLike(value)) {
      const bytes = bytesOf(value, what);
      const at = this.size;
      this.parts.push({ at, bytes });
      this.size = Math.ceil((at + bytes.length) / ALIGN) * ALIGN;
      const dtype = this.dtypes.code(value.dtype);
      return { dtype, sizes: [...value.shape], at, bytes: bytes.length };
    }
    if (typeof value === "boolean") return { bool: value };
    const isWhole = typeof value === "number" && Number.isSafeInteger(value);
    if (typeof value === "bigint" || (isWhole && declared?.kind === "int"))
      return { int: String(value) };
    if (typeof value === "number")
      return { double: Number.isFinite(value) ? value : String(value) };
    throw badArgument(what, "a tensor, number, bigint or boolean", value);
  }

  /** Fills memory of at least `bytes`. */
  fill(memory: Uint8Array): void {
    for (const { at, bytes } of this.parts) memory.set(bytes, at);
  }

  get bytes(): number {
    return this.size;
  }
}

function checkCase(testCase: unknown, what: string): GivenTestCase {
  if (!isObject(testCase)) throw badArgument(what, "an object", testCase);
  if (isPlain(testCase)) onlyHasKeys(what, testCase, ["inputs", "expectedOutputs"]);
  const { inputs, expectedOutputs } = testCase;
  checkInputs(`the inputs of ${what}`, inputs);
  if (expectedOutputs !== undefined && expectedOutputs !== null)
    mustBe("list", `the expectedOutputs of ${what}`, expectedOutputs);
  return testCase as unknown as GivenTestCase;
}

/** Throws unless these are test suites. */
export function checkSuites(suites: unknown): GivenTestSuite[] {
  mustBe("list", "the suites of bundle()", suites);
  return (suites as unknown[]).map((suite, i) => {
    if (!isObject(suite)) throw badArgument(`suites[${i}] of bundle()`, "an object", suite);
    // Objects of classes have members of their own.
    if (isPlain(suite)) onlyHasKeys(`suites[${i}] of bundle()`, suite, ["methodName", "testCases"]);
    const { methodName, testCases } = suite;
    mustBe("name", `the methodName of suites[${i}]`, methodName);
    mustBe("list", `the testCases of suites[${i}]`, testCases);
    const name = String(methodName);
    const cases = (testCases as unknown[]).map((item, k) =>
      checkCase(item, `case ${k} of method '${name}'`),
    );
    return { methodName: name, testCases: cases };
  });
}

/** Writes the bundle of the program that the job runs, as the output of that number. Every case says what it expects. */
export function writeSuites(
  job: Job,
  suites: readonly TestSuite[],
  report: ProgramReport,
  dtypes: DTypeTable,
): number {
  const packer = new Packer(dtypes);
  const plain = suites.map(({ methodName, testCases }): PlainSuite => {
    const declared = report.methods.find(({ name }) => name === methodName);
    const cases = testCases.map(({ inputs, expectedOutputs }, k) => {
      const where = `of case ${k} of method '${methodName}'`;
      return {
        inputs: Array.from(inputs, (value, i) =>
          packer.value(value, `input ${i} ${where}`, declared?.inputs[i]),
        ),
        expected: expectedOutputs
          ? Array.from(expectedOutputs, (value, i) =>
              packer.value(value, `expected output ${i} ${where}`, declared?.outputs[i]),
            )
          : null,
      };
    });
    return { method: methodName, cases };
  });
  const { memory } = job.core;
  return memory.with(packer.bytes + ALIGN, (data) => {
    packer.fill(memory.bytes(data, packer.bytes));
    return memory.withTexts([JSON.stringify(plain)], (text, bytes) =>
      memory.with(8, (out) => {
        job.call({}, (raw, s) => raw.bundle_write(s, text!, bytes!, data, packer.bytes, out));
        return memory.number(out);
      }),
    );
  });
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
