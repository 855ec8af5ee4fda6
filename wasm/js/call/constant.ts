// Results of constant methods, as people write them and as the core's JSON. In both a number with a
// point or an exponent is a float, every other number an integer of 64 bits.
import { badArgument, isPlain, isText, TEXT } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { tagOf } from "../base/tags.js";
import { isTensorLike } from "../tensor/bytes.js";
import { isDType } from "../tensor/dtypes.js";
import { RunOfBytes } from "../tensor/run_of_bytes.js";
import { tensor } from "../tensor/tensor.js";
import type { ConstantValue, DType, NestedList } from "../types/index.js";

const DEPTH_MAX = 8;
const ACCEPTS =
  "a number, a bigint, true, false, a string, { double: number }, { dtype: name }, a tensor, or a list " +
  "or dict of them";

type Dict = Readonly<Record<string, ConstantValue>> | ReadonlyMap<string, ConstantValue>;

const isMap = (value: unknown): value is ReadonlyMap<string, ConstantValue> =>
  tagOf(value) === "Map";

/** A map, or a plain object that does not mark a float or a dtype. */
function isDict(value: unknown): value is Dict {
  if (isMap(value)) return true;
  if (!isPlain(value) || isTensorLike(value)) return false;
  const [key, ...more] = Object.keys(value);
  return more.length > 0 || (key !== "double" && key !== "dtype");
}

const entriesOf = (dict: Dict): (readonly [unknown, ConstantValue])[] =>
  isMap(dict) ? [...dict.entries()] : Object.entries(dict);

function integerJson(value: bigint): string {
  if (BigInt.asIntN(64, value) === value) return String(value);
  throw new SconceError(
    "argument",
    `the integer ${value} of a constant method does not fit 64 bits`,
    `Pass an integer from -2^63 to 2^63 - 1, or a float: { double: ${Number(value)} }.`,
  );
}

function doubleJson(value: number): string {
  const text = Object.is(value, -0) ? "-0.0" : String(value);
  return /[.eEIN]/.test(text) ? text : `${text}.0`;
}

/** The result of a constant method for the core. */
interface PackedConstant {
  readonly json: string;
  /** The elements of its tensors. */
  readonly bytes: Uint8Array;
}

/** `what` names the value for messages. */
export function packConstant(what: string, value: ConstantValue): PackedConstant {
  const tensors = new RunOfBytes();
  const json = new Writer(what, tensors).json(value, 0);
  return { json, bytes: tensors.bytes() };
}

class Writer {
  constructor(
    private readonly what: string,
    private readonly tensors: RunOfBytes,
  ) {}

  json(value: ConstantValue | undefined, depth: number): string {
    if (Array.isArray(value) || isDict(value)) return this.nested(value, depth);
    if (isTensorLike(value)) return JSON.stringify(this.tensors.add(value, this.what));
    if (typeof value === "bigint") return integerJson(value);
    if (typeof value === "number")
      return Number.isInteger(value) ? integerJson(BigInt(value)) : doubleJson(value);
    if (typeof value === "string") return this.text(value);
    if (typeof value === "boolean") return JSON.stringify(value);
    return this.marked(value);
  }

  private text(value: string): string {
    if (!isText(value)) throw badArgument(this.what, TEXT, value);
    return JSON.stringify(value);
  }

  private nested(value: readonly ConstantValue[] | Dict, depth: number): string {
    if (depth >= DEPTH_MAX)
      throw new SconceError(
        "argument",
        `${this.what} is nested deeper than ${DEPTH_MAX}`,
        "Pass a list or dict that is flatter and does not contain itself.",
      );
    const item = (one: ConstantValue | undefined): string => this.json(one, depth + 1);
    if (Array.isArray(value))
      return `[${Array.from(value as readonly ConstantValue[], item).join(",")}]`;
    const pairs = entriesOf(value as Dict).map(([key, one]) => {
      if (typeof key !== "string") throw badArgument(`a key of ${this.what}`, "a string", key);
      return `[${this.text(key)},${item(one)}]`;
    });
    return `{"dict":[${pairs.join(",")}]}`;
  }

  /** `{ double: 1 }` and `{ dtype: "float16" }`. */
  private marked(value: unknown): string {
    const { double, dtype } = (value ?? {}) as { double?: unknown; dtype?: unknown };
    if (typeof double === "number") return doubleJson(double);
    if (isDType(dtype)) return JSON.stringify({ dtype });
    throw badArgument(this.what, ACCEPTS, value);
  }
}

function refused(text: string, why: string, hint: string): SconceError {
  return new SconceError("argument", `the constant ${text} ${why}`, hint);
}

const INTEGER = /^[-+]?\d+$/;
const FLOAT = /^[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|inf|nan)$/;

/** A number as it is written: with a point or an exponent a float, else an integer. */
function parseNumber(text: string): ConstantValue {
  if (INTEGER.test(text)) {
    const value = BigInt(text.replace("+", ""));
    if (BigInt.asIntN(64, value) === value) return value;
    throw refused(text, "does not fit an integer of 64 bits", `Write ${text}.0 for a float.`);
  }
  const double = Number(text.replace("inf", "Infinity").replace("nan", "NaN"));
  if (Number.isFinite(double) || /inf|nan/.test(text)) return { double };
  throw refused(text, "is too large for a float", "Write inf for infinity.");
}

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

type Numbers = number | bigint | { readonly double: number } | readonly Numbers[];

/** The elements of a tensor as `tensor()` takes them: bigints only where a number is not exact. */
function elementsOf(numbers: Numbers): unknown {
  if (Array.isArray(numbers)) return numbers.map(elementsOf);
  if (typeof numbers === "bigint")
    return Number.isSafeInteger(Number(numbers)) ? Number(numbers) : numbers;
  return (numbers as { readonly double?: number }).double ?? numbers;
}

const MARK = /^(tensor|dtype)$/;

/**
 * An object of JSON. `{"tensor": [[1, 2]], "dtype": "int64"}` is a tensor, of float32 where no dtype is
 * given. A dict is a map, so that keys such as "1" stay in their order.
 */
function objectOf(marked: Readonly<Record<string, unknown>>): ConstantValue {
  const entries = Object.entries(marked).map(
    ([key, value]) => [key.slice(1), value as ConstantValue] as const,
  );
  const object = Object.fromEntries(entries);
  const keys = Object.keys(object);
  if (!keys.includes("tensor") || !keys.every((key) => MARK.test(key)))
    return isDict(object) ? new Map(entries) : object;
  const { tensor: numbers, dtype = "float32" } = object as unknown as {
    tensor: Numbers;
    dtype?: DType;
  };
  return tensor(elementsOf(numbers) as NestedList, undefined, dtype);
}

/**
 * JSON whose numbers keep what JSON.parse forgets: all digits, and 1.0 for a float. On the way through
 * JSON.parse every number is a text that begins with n, and every text begins with s.
 */
function parseJson(text: string): ConstantValue {
  const marked = text.replace(TOKENS, (t) => (t.startsWith('"') ? `"s${t.slice(1)}` : `"n${t}"`));
  const unmark = (_: string, value: unknown): unknown => {
    if (typeof value !== "string") return isPlain(value) ? objectOf(value) : value;
    return value.startsWith("n") ? parseNumber(value.slice(1)) : value.slice(1);
  };
  try {
    return JSON.parse(marked, unmark) as ConstantValue;
  } catch (error) {
    if (error instanceof SconceError) throw error;
    throw refused(text, "is not JSON", "Write [1, 2], or text in quotes if text is meant.");
  }
}

/**
 * A constant as people write it. 256 is an integer; 0.5, 1e3, inf and nan are floats; true and
 * false are booleans. Text that begins with [ or a quote is JSON. All other text stays as it is.
 */
export function parseConstant(text: string): ConstantValue {
  if (INTEGER.test(text) || FLOAT.test(text)) return parseNumber(text);
  if (text === "true" || text === "false") return text === "true";
  if (/^\s*[[{]/.test(text)) return parseJson(text);
  if (!/^\s*"/.test(text)) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    throw refused(text, "is not a JSON string", "Close the quotes, and escape those inside.");
  }
}
