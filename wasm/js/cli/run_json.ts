// The outputs of a run as JSON: elements in row-major order, and what there is to say of them.
//   numbers        as they are; NaN, Infinity and -Infinity as text
//   64 bits        integers as text, because a double cannot hold them all
//   complex        a list of the real and the imaginary part
import { SconceError } from "../errors.js";
import { isTensor, toNumbers } from "../tensor.js";
import type { DType, ProgramMethodInfo, Tensor, Value } from "../types.js";
import { outputPath } from "./run_results.js";
import { statisticsOf } from "./values.js";

type Element = number | string | boolean | readonly (number | string)[];

/** An output as it stands in JSON. */
export interface JsonOutput {
  readonly name: string;
  readonly kind: string;
  readonly dtype?: DType;
  readonly shape?: readonly number[];
  /** The elements, or the value; null where it is none, or a file has what is too large for JSON. */
  readonly data: Element | readonly Element[] | null;
  readonly statistics?: {
    readonly min: number | string;
    readonly max: number | string;
    readonly mean: number;
    /** Elements that are not a number; the others leave them out. */
    readonly nan: number;
  };
  /** The input that has this value after the call. */
  readonly ofInput?: number;
  /** The file that --out has made of it. */
  readonly file?: string;
}

/** JSON of more elements would be hundreds of megabytes of text. */
const ELEMENTS_MAX = 2 ** 22;

// --- Elements --------------------------------------------------------------------------------------

/** The formats of 8 bits: bits of the exponent, its bias, and whether they have infinities. */
const FLOAT8: Partial<Record<DType, readonly [exponent: number, bias: number, ieee: boolean]>> = {
  float8_e5m2: [5, 15, true],
  float8_e4m3fn: [4, 7, false],
  float8_e5m2fnuz: [5, 16, false],
  float8_e4m3fnuz: [4, 8, false],
};

/** The number of a code of 8 bits. */
function float8(dtype: DType, code: number): number {
  const [bits, bias, ieee] = FLOAT8[dtype]!;
  const mantissaBits = 7 - bits;
  const exponent = (code & 0x7f) >> mantissaBits;
  const mantissa = (code & ((1 << mantissaBits) - 1)) / (1 << mantissaBits);
  const sign = code & 0x80 ? -1 : 1;
  if (dtype.endsWith("fnuz") && code === 0x80) return NaN;
  if (dtype === "float8_e4m3fn" && (code & 0x7f) === 0x7f) return NaN;
  if (ieee && exponent === (1 << bits) - 1) return mantissa ? NaN : sign * Infinity;
  if (exponent === 0) return sign * mantissa * 2 ** (1 - bias);
  return sign * (1 + mantissa) * 2 ** (exponent - bias);
}

const PARTS = { complex32: "float16", complex64: "float32", complex128: "float64" } as const;

/** The real and imaginary parts, one after the other. */
function partsOf(tensor: Tensor, dtype: keyof typeof PARTS): number[] {
  const { buffer, byteOffset, byteLength } = tensor.data;
  const bytes = new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength).slice();
  const Parts = { complex32: Uint16Array, complex64: Float32Array, complex128: Float64Array }[
    dtype
  ];
  const data = new Parts(bytes.buffer);
  return toNumbers({ dtype: PARTS[dtype], shape: [data.length], data });
}

const isComplex = (dtype: DType): dtype is keyof typeof PARTS => Object.hasOwn(PARTS, dtype);

/** Numbers of a tensor that is not complex; bigints of 64 bits. */
function numbersOf(tensor: Tensor): readonly (number | bigint)[] {
  const { dtype, data } = tensor;
  if (dtype === "int64" || dtype === "uint64") return Array.from<number | bigint>(data);
  if (FLOAT8[dtype]) return Array.from(data as Uint8Array, (code) => float8(dtype, code));
  return toNumbers(tensor);
}

const plain = (value: number | bigint): number | string =>
  typeof value === "bigint" ? String(value) : value;

function elementsOf(tensor: Tensor): Element[] {
  const { dtype } = tensor;
  if (isComplex(dtype)) {
    const parts = partsOf(tensor, dtype);
    return Array.from({ length: parts.length / 2 }, (_, i) => parts.slice(2 * i, 2 * i + 2));
  }
  const numbers = numbersOf(tensor);
  return dtype === "bool" ? numbers.map((n) => n !== 0) : numbers.map(plain);
}

// --- Outputs ---------------------------------------------------------------------------------------

function tooLarge(name: string, count: number): SconceError {
  return new SconceError(
    "limit",
    `${name} has ${count} elements, and --json prints at most ${ELEMENTS_MAX}`,
    "Write it to a file: --out results/. The JSON then names the file.",
  );
}

function tensorJson(
  tensor: Tensor,
  name: string,
  file: string | undefined,
): Omit<JsonOutput, "kind"> {
  const { dtype, shape } = tensor;
  const count = shape.reduce((product, size) => product * size, 1);
  const isLarge = count > ELEMENTS_MAX;
  if (isLarge && file === undefined) throw tooLarge(name, count);
  const found = isComplex(dtype) || count === 0 ? undefined : statisticsOf(numbersOf(tensor));
  return {
    name,
    dtype,
    shape,
    data: isLarge ? null : elementsOf(tensor),
    ...(found && {
      statistics: {
        min: plain(found.low),
        max: plain(found.high),
        mean: found.mean,
        nan: found.nan,
      },
    }),
  };
}

const scalar = (value: Exclude<Value, Tensor>, kind: string): Element | null =>
  kind === "int" && value !== null ? String(value) : (value as Element | null);

/** The outputs of a call; `folder` is where --out puts them. */
export function jsonOutputs(
  outputs: readonly Value[],
  info: ProgramMethodInfo,
  folder: string | undefined,
): JsonOutput[] {
  return outputs.map((value, i) => {
    const { name, kind, ofInput } = info.outputs[i]!;
    const file = folder === undefined || value === null ? undefined : outputPath(folder, i);
    const told = isTensor(value)
      ? tensorJson(value, name, file)
      : { name, data: scalar(value, kind) };
    const { name: _, ...rest } = told;
    return {
      name,
      kind,
      ...rest,
      ...(ofInput !== undefined && { ofInput }),
      ...(file !== undefined && { file }),
    };
  });
}
