// Inputs as people write them, and outputs as people read them. It owns that no number changes on
// its way: what a declared type cannot hold is an error, and integers keep all their digits.
import { SconceError } from "../../base/errors.js";
import { makeTensor } from "../../tensor/fill.js";
import { tensor } from "../../tensor/tensor.js";
import { isTensor } from "../../tensor/bytes.js";
import { toNumbers } from "../../tensor/numbers.js";
import type { DType, ProgramValueInfo, Tensor, Value } from "../../types/index.js";
import { reason } from "./files.js";
import { filled } from "./fillers.js";
import { readNpy } from "./npy.js";
import { STREAM } from "./streams.js";
import { UsageError } from "../usage.js";

/** Gives the bytes of a file, or throws what the file system says. */
export type Reader = (path: string) => Uint8Array;

const FORMS =
  "x.npy, 3.5, 7, true, none, zeros, ones or random:SEED, such as random:1, with sizes as in " +
  "random:1:2x3; - is an .npy on the standard input";

/** Reads a file of numbers as a tensor that fits the declaration. */
export function readArray(path: string, info: ProgramValueInfo, read: Reader): Tensor {
  try {
    return readNpy(read(path), path, info.dtype);
  } catch (error) {
    if (error instanceof SconceError) throw error;
    if (error instanceof UsageError) throw error;
    const isPath = path.endsWith(".npy");
    throw new SconceError(
      "io",
      isPath ? `cannot read ${path}: ${reason(error)}` : `'${path}' is neither a value nor a file`,
      isPath ? "Check the path." : `Pass ${FORMS}.`,
    );
  }
}

// --- Numbers -----------------------------------------------------------------------------------------

const INTEGER = /^[-+]?\d+$/;
const FLOAT = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^[-+]?(inf|nan)$/;
// No integer type has more; that many digits would take long to read.
const DIGITS_MAX = 40;

function refused(index: number, text: string, why: string, hint: string): SconceError {
  const shown = text.length > DIGITS_MAX ? `${text.slice(0, DIGITS_MAX)}...` : text;
  return new SconceError("input", `input ${index}: ${shown} ${why}`, hint);
}

/** All digits of an integer; undefined when it is not one, null when it is larger than any type. */
function integerOf(text: string): bigint | undefined | null {
  if (text === "true" || text === "false") return text === "true" ? 1n : 0n;
  if (INTEGER.test(text)) {
    const digits = text.replace(/^([-+]?)0+(?=\d)/, "$1").replace("+", "");
    return digits.length > DIGITS_MAX ? null : BigInt(digits);
  }
  const value = Number(text);
  if (!Number.isInteger(value)) return undefined;
  return Number.isSafeInteger(value) ? BigInt(value) : null;
}

/** The least and the greatest value of an integer type; of bool 0 and 1. */
function rangeOf(dtype: DType): [bigint, bigint] | undefined {
  if (dtype === "bool") return [0n, 1n];
  const parts = /^(u?)int(\d+)$/.exec(dtype);
  if (!parts) return undefined;
  const bits = BigInt(parts[2]!);
  return parts[1] ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n];
}

function integerTensor(
  text: string,
  dtype: DType,
  [low, high]: readonly [bigint, bigint],
  index: number,
): Tensor {
  const value = integerOf(text);
  const hint = dtype === "bool" ? "Pass true or false." : `Pass an integer from ${low} to ${high}.`;
  if (value === undefined) throw refused(index, text, `is not of type ${dtype}`, hint);
  if (value === null || value < low || value > high)
    throw refused(index, text, `is out of the range of ${dtype}`, hint);
  return tensor(dtype === "bool" ? Number(value) : value, [], dtype);
}

function floatOf(text: string): number {
  if (text === "true" || text === "false") return text === "true" ? 1 : 0;
  return Number(text.replace("inf", "Infinity").replace("nan", "NaN"));
}

function floatTensor(text: string, info: ProgramValueInfo, index: number): Tensor {
  const dtype = info.dtype!;
  if (!/^b?float\d+$/.test(dtype))
    throw refused(index, text, `cannot be ${dtype}`, "Pass an .npy file.");
  const value = floatOf(text);
  const made = makeTensor(info, [], () => value);
  if (!/inf|nan/.test(text) && !Number.isFinite(toNumbers(made)[0]))
    throw refused(index, text, `is out of the range of ${dtype}`, "Pass a smaller number, or inf.");
  return made;
}

/** Numbers, true and false for tensors without dimensions are tensors; for others what they say. */
function parseScalar(text: string, info: ProgramValueInfo, index: number): Value {
  if (info.kind !== "tensor") {
    if (text === "true" || text === "false") return text === "true";
    const value = info.kind === "int" ? integerOf(text) : undefined;
    if (value === null)
      throw refused(index, text, "does not fit 64 bits", "Pass a smaller integer.");
    return value ?? floatOf(text);
  }
  if (info.shape!.length > 0) {
    throw new SconceError(
      "input",
      `a number cannot be the ${info.dtype} tensor [${info.shape!.join(", ")}]`,
      "Pass an .npy file, or zeros, ones, random:1.",
    );
  }
  const range = rangeOf(info.dtype!);
  return range ? integerTensor(text, info.dtype!, range, index) : floatTensor(text, info, index);
}

/** Reads the text of --input as a value that fits the declaration. */
export function parseInput(
  text: string,
  info: ProgramValueInfo,
  index: number,
  read: Reader,
): Value {
  const made = filled(text, info, index);
  if (made !== undefined) return made;
  if (text === "none") return null;
  if (text === "true" || text === "false" || INTEGER.test(text) || FLOAT.test(text))
    return parseScalar(text, info, index);
  if (info.kind === "string" && !text.endsWith(".npy") && text !== STREAM) return text;
  return readArray(text, info, read);
}

// --- Outputs -----------------------------------------------------------------------------------------

/** The smallest, largest and mean element of a tensor, and how many are not a number. */
export interface Statistics {
  low: number | bigint;
  high: number | bigint;
  mean: number;
  /** Elements that are not a number; no other figure counts them. */
  nan: number;
}

/** Least, greatest and mean of at least one element; integers exactly but for the mean. */
export function statisticsOf(items: readonly (number | bigint)[]): Statistics {
  let [low, high] = [items[0]!, items[0]!];
  let [sum, count] = [0, 0];
  for (const n of items) {
    if (Number.isNaN(n)) continue;
    if (count++ === 0) low = high = n;
    if (n < low) low = n;
    if (n > high) high = n;
    sum += Number(n);
  }
  return { low, high, mean: sum / Math.max(1, count), nan: items.length - count };
}

function summary(
  items: readonly (number | bigint)[],
  show: (n: number | bigint) => string,
): string {
  const { low, high, mean, nan } = statisticsOf(items);
  const rest = nan ? `, ${nan} NaN` : "";
  return `min ${show(low)} max ${show(high)} mean ${mean.toPrecision(6)}${rest}`;
}

/** A value on one line. Integers are shown with all digits, floats with six. */
export function describe(value: Value): string {
  if (!isTensor(value)) return typeof value === "string" ? JSON.stringify(value) : String(value);
  const shape = `${value.dtype} [${value.shape.join(", ")}]`;
  if (value.dtype.startsWith("complex")) return shape;
  const exact = rangeOf(value.dtype) !== undefined;
  const items = exact ? Array.from<number | bigint>(value.data) : toNumbers(value);
  if (items.length === 0) return `${shape} empty`;
  const show = (n: number | bigint): string =>
    exact ? String(n) : String(Number(Number(n).toPrecision(6)));
  if (items.length <= 8) return `${shape} ${items.map(show).join(" ")}`;
  return `${shape} ${summary(items, show)}`;
}
