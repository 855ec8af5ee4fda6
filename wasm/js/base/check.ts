// Checks of what callers pass, and the errors of what they may not. Options are tables: a key that no table
// knows is an error that names its nearest neighbour, because an option that is silently ignored is a
// wrong result with no trace. Which options calls take stands in call/protocol.ts.
import { SconceError } from "./errors.js";
import { oneOf } from "./nearest.js";
import { isObject, tagOf } from "./tags.js";
import type { OwnPartitioner } from "../types/backend.js";
import type { OwnOperator } from "../types/operator.js";

export { isObject };

/** A kind of value: a test, and the words for it. */
export interface Kind {
  /** The accepted values, as the end of "must be" and of "Pass". */
  readonly accepts: string;
  readonly test: (value: unknown) => boolean;
}

/** The words for text that UTF-8 can hold. */
export const TEXT = "text without unpaired surrogates";

/** True if UTF-8 can represent all of it. */
export const isText = (value: string): boolean => !/\p{Cs}/u.test(value);

/** An object without a class: an object with a class may have no keys of its own to read. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  // The root of another window's objects is another one, but a root.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The kinds of values that several calls take, by name. */
export const KINDS = {
  any: { accepts: "anything", test: () => true },
  /** Lists or iterables, of which a worker asks for the next when there is need for it. */
  calls: { accepts: "calls", test: () => true },
  /** Sources, which cross a worker as such. */
  files: { accepts: "a list", test: Array.isArray },
  flag: { accepts: "true or false", test: (v) => typeof v === "boolean" },
  function: { accepts: "a function", test: (v) => typeof v === "function" },
  index: {
    accepts: "a whole number, 0 or more",
    test: (v) => Number.isSafeInteger(v) && Number(v) >= 0,
  },
  list: { accepts: "a list", test: Array.isArray },
  // The names that the core takes for methods, less those that cannot be written to a file and read back.
  name: {
    accepts: "a name: any text but the empty one and text with NUL characters",
    test: (v) => typeof v === "string" && v !== "" && !/[\0\p{Cs}]/u.test(v),
  },
  names: {
    accepts: "a list of names",
    test: (v) => Array.isArray(v) && Array.from(v).every((item) => typeof item === "string"),
  },
  record: { accepts: "a plain object", test: isPlain },
  signal: {
    accepts: "an AbortSignal",
    test: (v) =>
      isObject(v) &&
      typeof v["aborted"] === "boolean" &&
      typeof v["addEventListener"] === "function",
  },
  text: { accepts: "a string", test: (v) => typeof v === "string" },
} satisfies Record<string, Kind>;

type KindName = keyof typeof KINDS;

/** True for a partitioner of the caller's own with what it asks for: it has a function `partition`. */
export const isOwnPartitioner = (value: unknown): value is OwnPartitioner =>
  isPlain(value) && KINDS.function.test(value["partition"]);

/** True for an object that is meant as an operator of the caller's own: it has a `schema`. */
export const isOwnOperator = (value: unknown): value is OwnOperator =>
  isObject(value) && typeof value["schema"] === "string";
/** The options of a call by name, each with its kind or a table of its own. */
export interface OptionTable {
  readonly [option: string]: KindName | Kind | OptionTable;
}

const THREADS_MAX = 64;
const isThreads = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= THREADS_MAX;
/** The options of `createEngine`. */
export const ENGINE_OPTIONS = {
  wasm: "any",
  onLog: "function",
  threads: {
    accepts: `"auto" or a whole number from 1 to ${THREADS_MAX}`,
    test: (value: unknown) => value === "auto" || isThreads(value),
  },
  simd: {
    accepts: '"auto" or "baseline"',
    test: (value: unknown) => value === "auto" || value === "baseline",
  },
  deterministic: "flag",
} as const;
/** The options of `createClient`. */
export const CLIENT_OPTIONS = { ...ENGINE_OPTIONS, worker: "function" } as const;
const POOL_SIZE_MAX = 64;
const POOL_SIZE: Kind = {
  accepts: `a whole number from 1 to ${POOL_SIZE_MAX}`,
  test: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= POOL_SIZE_MAX,
};
const LIMIT: Kind = {
  accepts: "a number, 0 or more",
  test: (value) => typeof value === "number" && value >= 0,
};
/** The options of `createPool`. */
export const POOL_OPTIONS = {
  ...CLIENT_OPTIONS,
  size: POOL_SIZE,
  maxQueue: LIMIT,
  maxHeapBytes: LIMIT,
  prepare: "function",
} as const;
/** The options of `Pool.use`. */
export const USE_OPTIONS = { signal: "signal" } as const;

/** Longer objects are shown by their kind. */
const SHOWN_MAX = 60;

function showPlain(value: object): string {
  try {
    const json = JSON.stringify(value, (_, item: unknown) =>
      typeof item === "bigint" ? `${item}n` : item,
    );
    return json.length > SHOWN_MAX ? "an object" : json;
  } catch {
    return "an object";
  }
}

/** A value in a message: its kind rather than all of it. */
function show(value: unknown): string {
  if (typeof value === "string") return `the string ${JSON.stringify(value.slice(0, 40))}`;
  if (typeof value === "function") return "a function";
  if (typeof value === "bigint") return `${value}n`;
  if (!isObject(value)) return String(value);
  if (Array.isArray(value)) {
    const items = Array.from(value.slice(0, 8), (item) =>
      Array.isArray(item) ? "[…]" : show(item),
    );
    return `[${items.join(", ")}${value.length > 8 ? ", …" : ""}]`;
  }
  const tag = tagOf(value);
  const name = tag === "Object" ? (value.constructor as { name?: string } | undefined)?.name : tag;
  return !name || name === "Object" ? showPlain(value) : `an object of class ${name}`;
}

/** The error of an argument that is not what `accepts` says. */
export function badArgument(what: string, accepts: string, value: unknown): SconceError {
  return new SconceError(
    "argument",
    `${what} must be ${accepts}, not ${show(value)}`,
    `Pass ${accepts}.`,
  );
}

/** Throws unless `value`, the argument that `what` names, is of the kind. */
export function mustBe(kind: KindName, what: string, value: unknown): void {
  if (!KINDS[kind].test(value)) throw badArgument(what, KINDS[kind].accepts, value);
}

/** JSON for the core, which takes text only that UTF-8 can hold; `what` names where it comes from. */
export function jsonFor(what: string, value: unknown): string {
  const json = JSON.stringify(value);
  // Only surrogates without their other halves are escaped, or somebody wrote an escape out.
  if (!/\\ud[89a-f]/.test(json)) return json;
  const check = (text: unknown): void => {
    if (typeof text === "string" && !isText(text))
      throw badArgument(`a string in ${what}`, TEXT, text);
  };
  return JSON.stringify(value, (key, item: unknown) => {
    check(key);
    check(item);
    return item;
  });
}

const unknownOption = (where: string, key: string, known: readonly string[]): SconceError =>
  new SconceError("option", `${where} has no option '${key}'`, oneOf(key, known));

/** A name from elsewhere in a message: the beginning of a long one. */
export const shortened = (name: string): string =>
  name.length > 60 ? `${name.slice(0, 60)}…` : name;

/** Throws if an object, which `what` names, has a key that is not one of the known ones. */
export function onlyHasKeys(what: string, value: object, known: readonly string[]): void {
  const key = Object.keys(value).find((name) => !known.includes(name));
  if (key === undefined) return;
  throw new SconceError(
    "argument",
    `${what} has '${shortened(key)}', which is not one of: ${known.join(", ")}`,
    oneOf(key, known),
  );
}

const isKind = (entry: Kind | OptionTable): entry is Kind => typeof entry["test"] === "function";

/** Throws unless `value` has keys of the table only, each of its kind. */
export function checkTable(where: string, value: unknown, table: OptionTable): void {
  if (value === undefined) return;
  if (!isPlain(value)) {
    const { message, hint } = badArgument(`the options of ${where}`, KINDS.record.accepts, value);
    const isSignal = "signal" in table && KINDS.signal.test(value);
    throw new SconceError("argument", message, isSignal ? "Pass { signal }." : hint);
  }
  for (const [key, item] of Object.entries(value)) {
    const entry = Object.hasOwn(table, key) ? table[key]! : undefined;
    if (entry === undefined) throw unknownOption(where, key, Object.keys(table));
    const kind = typeof entry === "string" ? KINDS[entry] : entry;
    if (!isKind(kind)) checkTable(`${key} of ${where}`, item, kind);
    else if (item !== undefined && !kind.test(item)) {
      const { message, hint } = badArgument(`'${key}' of ${where}`, kind.accepts, item);
      throw new SconceError("option", message, hint);
    }
  }
}
