// Test suites on their way into a bundle: values as JSON with one block of bytes.
import { badArgument, isObject, isPlain, mustBe, onlyHasKeys } from "../base/check.js";
import type { Job } from "../module/job.js";
import type { DTypeTable } from "./dtype_table.js";
import { checkInputs } from "./call.js";
import type { Plain, PlainSuite } from "./suites.js";
import { bytesOf, isTensorLike } from "../tensor/bytes.js";
import type {
  GivenTestCase,
  GivenTestSuite,
  ProgramReport,
  ProgramValueInfo,
  TestSuite,
} from "../types/index.js";

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
