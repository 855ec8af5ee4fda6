// The outputs of a run as JSON: elements in row-major order, and what there is to say of them.
//   numbers        as they are; NaN, Infinity and -Infinity as text
//   64 bits        integers as text, because a double cannot hold them all
//   complex        a list of the real and the imaginary part
import { SconceError } from "../../base/errors.js";
import { isTensor } from "../../tensor/bytes.js";
import { toNumbers } from "../../tensor/numbers.js";
import type { DType, ProgramMethodInfo, Tensor, Value } from "../../types/index.js";
import { outputPath } from "./results.js";
import { statisticsOf } from "../files/values.js";

type Element = number | string | boolean | readonly (number | string)[];

/** An output as it stands in JSON. */
export interface JsonOutput {
  readonly name: string;
  readonly kind: string;
  readonly dtype?: DType;
  readonly shape?: readonly number[];
  /**
   * The elements, or the value. Null if it has no value, or a file has one that is too large for
   * JSON.
   */
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

const isComplex = (dtype: DType): boolean => dtype.startsWith("complex");

/** Numbers of a tensor: bigints of 64 bits, and two for each complex element. */
function numbersOf(tensor: Tensor): readonly (number | bigint)[] {
  const { dtype, data } = tensor;
  return dtype === "int64" || dtype === "uint64"
    ? Array.from<number | bigint>(data)
    : toNumbers(tensor);
}

const plain = (value: number | bigint): number | string =>
  typeof value === "bigint" ? String(value) : value;

function elementsOf(tensor: Tensor): Element[] {
  const numbers = numbersOf(tensor);
  if (tensor.dtype === "bool") return numbers.map((n) => n !== 0);
  const all = numbers.map(plain);
  if (!isComplex(tensor.dtype)) return all;
  return Array.from({ length: all.length / 2 }, (_, i) => all.slice(2 * i, 2 * i + 2));
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
    const whole = isTensor(value)
      ? tensorJson(value, name, file)
      : { name, data: scalar(value, kind) };
    const { name: _, ...rest } = whole;
    return {
      name,
      kind,
      ...rest,
      ...(ofInput !== undefined && { ofInput }),
      ...(file !== undefined && { file }),
    };
  });
}
