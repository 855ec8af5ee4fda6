// What constant methods return, as people write it and as the core's JSON. In both a number with a
// point or an exponent is a float, every other number an integer of 64 bits.
import { badArgument, isText, TEXT } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import type { ConstantValue } from "../types/index.js";

const DEPTH_MAX = 8;
const ACCEPTS = "a number, a bigint, true, false, a string, { double: number }, or a list of them";

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

/** `what` names the value for messages. */
export function constantJson(what: string, value: ConstantValue, depth = 0): string {
  if (Array.isArray(value)) {
    if (depth < DEPTH_MAX)
      return `[${Array.from(value, (item) => constantJson(what, item as ConstantValue, depth + 1)).join(",")}]`;
    throw new SconceError(
      "argument",
      `${what} is a list nested deeper than ${DEPTH_MAX}`,
      "Pass a list that is flatter and does not contain itself.",
    );
  }
  if (typeof value === "bigint") return integerJson(value);
  if (typeof value === "number")
    return Number.isInteger(value) ? integerJson(BigInt(value)) : doubleJson(value);
  if (typeof value === "string" && !isText(value)) throw badArgument(what, TEXT, value);
  if (typeof value === "string" || typeof value === "boolean") return JSON.stringify(value);
  const double: unknown = (value as { readonly double?: unknown } | null | undefined)?.double;
  if (typeof double === "number") return doubleJson(double);
  throw badArgument(what, ACCEPTS, value);
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

/** A JSON list, whose numbers keep what JSON.parse forgets: all digits, and 1.0 for a float. */
function parseList(text: string): ConstantValue {
  const wrapped = text.replace(TOKENS, (t) =>
    t.startsWith('"') ? t : `{"number": ${JSON.stringify(t)}}`,
  );
  const unwrap = (_: string, value: unknown): unknown => {
    const number = (value as { number?: unknown } | null)?.number;
    return typeof number === "string" ? parseNumber(number) : value;
  };
  try {
    return JSON.parse(wrapped, unwrap) as ConstantValue;
  } catch (error) {
    if (error instanceof SconceError) throw error;
    throw refused(text, "is not a JSON list", "Write [1, 2], or text in quotes if text is meant.");
  }
}

/**
 * A constant as people write it: 256 is an integer, 0.5, 1e3, inf and nan are floats, true and false
 * booleans; what begins with [ or a quote is JSON; anything else is text as it is.
 */
export function parseConstant(text: string): ConstantValue {
  if (INTEGER.test(text) || FLOAT.test(text)) return parseNumber(text);
  if (text === "true" || text === "false") return text === "true";
  if (/^\s*[[{]/.test(text)) return parseList(text);
  if (!/^\s*"/.test(text)) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    throw refused(text, "is not a JSON string", "Close the quotes, and escape those inside.");
  }
}
