// Checks of backends: their functions, the values that these return, and the answers made of them.
import {
  badArgument,
  isObject,
  isPlain,
  KINDS,
  mustBe,
  onlyHasKeys,
  shortened,
} from "../base/check.js";
import { fault, type Answer, type Range, type RawMethod } from "./answer.js";
import { checkNamed, type Wrong } from "./check_named_data.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import { oneOf } from "../base/nearest.js";
import { isBytes } from "../base/tags.js";
import { bytesOf, isTensorLike } from "../tensor/bytes.js";
import type { Backend, CompileSpec, Part, PreprocessResult } from "../types/index.js";

type Callback = keyof typeof FUNCTIONS;

/**
 * True for a promise. Nobody will wait for it. Its rejection is caught, because an uncaught one
 * would end the process.
 */
export function isDropped(result: unknown): boolean {
  if (!isObject(result) || !KINDS.function.test(result["then"])) return false;
  void Promise.resolve(result).catch(() => undefined);
  return true;
}

/** Calls a function of a backend; what it throws says whose it is. */
export function called<T>(
  { id }: Backend,
  name: Callback,
  method: string,
  call: () => T,
  part = "",
): T {
  let result: T;
  const whose = part === "" ? "" : `${part} of `;
  const where = method === "" ? "" : ` for ${whose}method '${method}'`;
  try {
    result = call();
  } catch (error) {
    const message = `'${name}' of backend '${id}' threw${where}: ${messageOf(error)}`;
    const own = error instanceof SconceError ? error.hint : "";
    throw withCause(fault(message, method, own || LOOK_AT_CAUSE), error);
  }
  if (givenBy(name, result).filter(isDropped).length > 0)
    throw fault(
      `'${name}' of backend '${id}' returned a promise${where}, and the engine does not wait for it`,
      method,
      "Do the asynchronous work before, and return the result itself.",
    );
  return result;
}

const LOOK_AT_CAUSE = "Correct the backend: the `cause` of this error is what it threw.";

/** How to return what the engine reads, by function; the other functions return what they like. */
export const RETURNS = {
  supports: "Return true, or a string with the reason, from supports().",
  execute: "Return a list with a tensor or number for each of the part's `outputs` from execute().",
  preprocess: "Return { processedBytes: Uint8Array } from preprocess().",
  preprocessMultimethod:
    "Return { METHOD: [{ processedBytes: Uint8Array }, ...] }, a result for each part, " +
    "from preprocessMultimethod().",
  keeps: "Return true or false from keeps().",
  ownsState: "Return true or false from ownsState().",
} satisfies Partial<Record<Callback, string>>;

/** All that is looked at of a result: a state is the backend's own, whatever is in it. */
function givenBy(name: Callback, result: unknown): readonly unknown[] {
  if (name === "execute" && Array.isArray(result)) return [result, ...(result as unknown[])];
  if (name === "preprocess") return [result, ...partsOf(result)];
  if (name !== "preprocessMultimethod" || !isObject(result)) return [result];
  const lists = Object.values(result);
  const results = lists.flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  return [result, ...lists, ...results, ...results.flatMap(partsOf)];
}

/** The result of `preprocess` for a part, piece by piece. */
function partsOf(result: unknown): unknown[] {
  if (!isObject(result)) return [];
  const { processedBytes, namedData } = result;
  return [processedBytes, namedData, ...(isObject(namedData) ? Object.values(namedData) : [])];
}

/** The answer of a function that must give true or false. */
export function saidYes(
  backend: Backend,
  name: "keeps" | "ownsState",
  about: string,
  method: string,
  call: () => unknown,
): boolean {
  const answer = called(backend, name, method, call);
  if (typeof answer === "boolean") return answer;
  throw fault(
    `'${name}' of backend '${backend.id}' must return true or false for ${about} of method ` +
      `'${method}', not ${typeof answer}`,
    method,
    RETURNS[name],
  );
}

/** True for a function that a backend must have. */
const FUNCTIONS = {
  supports: true,
  init: true,
  execute: true,
  preprocess: false,
  preprocessMultimethod: false,
  keeps: false,
  ownsState: false,
  reset: false,
  destroy: false,
} as const;

const MEMBERS = ["id", "transformForPreDecomposition", ...Object.keys(FUNCTIONS)];

/** Throws unless this is a backend that can be registered. */
export function checkBackend(backend: Backend): void {
  if (!isObject(backend)) throw badArgument("what registerBackend() takes", "a backend", backend);
  const members: Record<string, unknown> = backend;
  mustBe("name", "the id of a backend", members["id"]);
  // Objects of classes have members of their own.
  if (isPlain(members)) onlyHasKeys(`backend '${backend.id}'`, members, MEMBERS);
  for (const [name, isNeeded] of Object.entries(FUNCTIONS)) {
    const member = members[name];
    if (member === undefined ? isNeeded : !KINDS.function.test(member))
      throw badArgument(`'${name}' of backend '${backend.id}'`, "a function", member);
  }
  const passes = members["transformForPreDecomposition"];
  if (passes !== undefined)
    mustBe("list", `'transformForPreDecomposition' of backend '${backend.id}'`, passes);
  if (!members["preprocess"] && !members["preprocessMultimethod"])
    throw badArgument(
      `'preprocess' of backend '${backend.id}'`,
      "a function, unless it has preprocessMultimethod",
      undefined,
    );
  if (members["ownsState"] && !members["reset"])
    throw badArgument(
      `'reset' of backend '${backend.id}'`,
      "a function, because it has ownsState",
      undefined,
    );
}

interface Made {
  backend: Backend;
  method: string;
  part: string;
  result: PreprocessResult;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** The results of `preprocessMultimethod`, in the order of the parts. */
export function allResults(
  backend: Backend,
  methods: readonly RawMethod[],
  parts: readonly Part[][],
  specs: readonly CompileSpec[][][],
): Made[] {
  const byMethod = <T>(lists: readonly T[]): Record<string, T> =>
    Object.fromEntries(methods.map(({ method }, m) => [method, lists[m]!]));
  const results: unknown = called(backend, "preprocessMultimethod", "", () =>
    backend.preprocessMultimethod!(byMethod(parts), byMethod(specs)),
  );
  const byName = isObject(results) ? results : {};
  const miscounted = (method: string, wanted: number, list: unknown = []): SconceError => {
    const found = Array.isArray(list) ? counted(list.length, "result") : "no list of results";
    const parts = counted(wanted, "part");
    return fault(
      `'preprocessMultimethod' of backend '${backend.id}' returned ${found} for method '${method}', ` +
        `which has ${parts}`,
      method,
      RETURNS.preprocessMultimethod,
    );
  };
  for (const [method, list] of Object.entries(byName))
    if (!methods.some((m) => m.method === method)) throw miscounted(method, 0, list);
  return methods.flatMap(({ method, parts: list }) => {
    const own: unknown = Object.hasOwn(byName, method) ? byName[method] : undefined;
    if (!Array.isArray(own) || own.length !== list.length)
      throw miscounted(method, list.length, own);
    return list.map(({ name }, i) => {
      return { backend, method, part: name, result: (own as PreprocessResult[])[i]! };
    });
  });
}

/** The JSON for the core of what a backend made of a part; the bytes go to the answer. */
export function resultJson({ backend, method, part, result }: Made, answer: Answer): object {
  const name = backend.preprocessMultimethod ? "preprocessMultimethod" : "preprocess";
  const what = `the result of '${name}' of backend '${backend.id}' for ${part} of method '${method}'`;
  const wrong: Wrong = (of, accepts, value) => {
    const { message } = badArgument(of === "" ? what : `${of} in ${what}`, accepts, value);
    const hint =
      of === "" || of === "processedBytes" ? RETURNS[name] : `Return ${accepts} as ${of}.`;
    return fault(message, method, hint);
  };
  if (!isObject(result)) throw wrong("", "{ processedBytes }", result);
  const onlyHas = (of: string, value: object, known: readonly string[]): void => {
    const key = Object.keys(value).find((name) => !known.includes(name));
    if (key === undefined) return;
    const message = `${of} has '${shortened(key)}', which is not one of: ${known.join(", ")}`;
    throw fault(message, method, isBytes(value) ? RETURNS[name] : oneOf(key, known));
  };
  onlyHas(what, result, ["processedBytes", "namedData", "debugHandleMap"]);
  const {
    processedBytes = new Uint8Array(),
    namedData = {},
    debugHandleMap,
  } = result as PreprocessResult;
  const bytes = (value: unknown, name: string): Range => {
    if (isBytes(value)) return answer.add(value);
    throw wrong(name, "a Uint8Array", value);
  };
  if (!isObject(namedData)) throw wrong("namedData", "bytes by name", namedData);
  const data = Object.entries(namedData).map(([key, entry]: [string, unknown]) => {
    const { bytes: contents, ...rest } = checkNamed(key, entry, { what, method, wrong, onlyHas });
    return { ...rest, bytes: answer.add(contents) };
  });
  return {
    processed: bytes(processedBytes, "processedBytes"),
    data,
    events: debugHandleMap === undefined ? null : eventsOf(debugHandleMap, wrong),
  };
}

/** Keys that are whole numbers are ids, as in ExecuTorch; others are names. */
function eventsOf(map: Readonly<Record<string, readonly number[]>>, wrong: Wrong): object[] {
  if (!isObject(map)) throw wrong("debugHandleMap", "lists of handles", map);
  return Object.entries(map).map(([key, handles]) => {
    if (!Array.isArray(handles) || !Array.from(handles).every(KINDS.index.test))
      throw wrong(`'${key}' of debugHandleMap`, "a list of handles", handles);
    return /^(0|[1-9]\d{0,14})$/.test(key) ? { id: Number(key), handles } : { name: key, handles };
  });
}

/** An output as the core reads it. */
export function valueJson(value: unknown, answer: Answer): object {
  if (isTensorLike(value)) {
    const { dtype, shape } = value;
    return { kind: "tensor", dtype, shape, bytes: answer.add(bytesOf(value, "it")) };
  }
  if (typeof value === "boolean") return { kind: "bool", value: value ? "1" : "0" };
  if (typeof value === "bigint" && BigInt.asIntN(64, value) === value)
    return { kind: "int", value: String(value) };
  if (typeof value === "number") {
    const isWhole = Number.isSafeInteger(value) && !Object.is(value, -0);
    const text = String(value).replace("Infinity", "inf").replace("NaN", "nan");
    return { kind: isWhole ? "int" : "double", value: text };
  }
  throw badArgument("it", "a tensor, number, bigint or boolean", value);
}
