// How a method is called: which one is meant, and which value goes into which of its inputs.
import { oneOf } from "../base/nearest.js";
import { badArgument, isPlain, shortened } from "../base/check.js";
import { counted } from "../base/counted.js";
import { SconceError } from "../base/errors.js";
import { checkOptions } from "../call/protocol.js";
import { isTensorLike } from "../tensor/bytes.js";
import type {
  Inputs,
  ProgramCall,
  ProgramMethodInfo,
  ProgramValueInfo,
  RunOptions,
  Value,
} from "../types/index.js";

/** A call with its method and all of its arguments. */
export interface WholeCall {
  method: string;
  inputs: Inputs;
  options: RunOptions;
}

const INPUTS = "a list with a value for each input, or an object with a value for each name";

/** Messages list at most so many names, because a file may have a million. */
const LISTED_MAX = 32;

function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  const shown = names.slice(0, LISTED_MAX).map(shortened).join(", ");
  return more > 0 ? `${shown} and ${more} more, which inspect() tells` : shown;
}

/** An input may be called "data": only text in `dtype` makes a tensor. */
const isOneTensor = (value: unknown): boolean =>
  isTensorLike(value) && typeof value.dtype === "string";

/** Throws unless it is a list or a plain object; `what` names it. */
export function checkInputs(what: string, inputs: unknown): asserts inputs is Inputs {
  if (isOneTensor(inputs))
    throw new SconceError(
      "argument",
      `${what} must be ${INPUTS}, not a tensor`,
      "Pass it in a list: [tensor].",
    );
  if (!Array.isArray(inputs) && !isPlain(inputs)) throw badArgument(what, INPUTS, inputs);
}

/** Methods that compute something; constant methods only return what the file says. */
const isMain = ({ inputs, instructions }: ProgramMethodInfo): boolean =>
  inputs.length > 0 || instructions > 0;

/** The method that needs no name: the only one that computes something, or the only one at all. */
export function onlyMethod(methods: readonly ProgramMethodInfo[]): ProgramMethodInfo | undefined {
  const main = methods.filter(isMain);
  const [only, ...others] = main.length > 0 ? main : methods;
  return others.length === 0 ? only : undefined;
}

function impliedMethod(call: string, methods: readonly ProgramMethodInfo[]): string {
  const only = onlyMethod(methods);
  if (only) return only.name;
  throw new SconceError(
    "argument",
    `${call} was given no method, and the program has ${methods.length}`,
    `Say which, before the inputs: ${listed(methods.map(({ name }) => name))}.`,
  );
}

/** The call that the arguments of `call`, which is "run" or "runNamed", stand for; checked. */
export function wholeCall(
  call: "run" | "runNamed" | "forwardBackward",
  args: ProgramCall,
  methods: () => readonly ProgramMethodInfo[],
): WholeCall {
  const where = `${call}()`;
  const [first, ...rest] = args as unknown[];
  const isMethod = typeof first === "string";
  if (!isMethod && !isPlain(first) && !Array.isArray(first))
    throw badArgument(`the method of ${where}`, `a string, or in its place ${INPUTS}`, first);
  const [inputs = [], options = {}] = isMethod ? rest : args;
  checkInputs(`the inputs of ${where}`, inputs);
  checkOptions("Program", call, options);
  const method = isMethod ? first : impliedMethod(where, methods());
  return { method, inputs, options: options as RunOptions };
}

/** The method of that name. */
export function methodNamed(
  name: string,
  methods: readonly ProgramMethodInfo[],
): ProgramMethodInfo {
  const found = methods.find((method) => method.name === name);
  if (found) return found;
  const names = methods.slice(0, LISTED_MAX).map((method) => method.name);
  throw new SconceError(
    "not_found",
    `there is no method '${shortened(name)}'`,
    names.length > 0 ? oneOf(name, names) : "Open a program with methods.",
  );
}

/** The value that export has fixed; undefined where the caller gives it. */
function fixedValue({ kind, value }: ProgramValueInfo): Value | undefined {
  if (kind === "none") return null;
  if (value === undefined || value === null) return undefined;
  if (kind === "double") return Number(value);
  if (kind === "int") return Number.isSafeInteger(value) ? value : undefined;
  return kind === "bool" || kind === "string" ? value : undefined;
}

/** The error of a name that no input has. */
export function unknownInput(
  name: string,
  { name: method, inputs }: ProgramMethodInfo,
): SconceError {
  const names = inputs.slice(0, LISTED_MAX).map((input) => input.name);
  return new SconceError(
    "input",
    `method '${method}' has no input '${shortened(name)}'`,
    names.length > 0 ? oneOf(name, names) : "Pass no inputs: it takes none.",
  );
}

function byName(
  given: Readonly<Record<string, Value | undefined>>,
  info: ProgramMethodInfo,
): Value[] {
  const known = new Set(info.inputs.map(({ name }) => name));
  const unknown = Object.keys(given).find((name) => !known.has(name));
  if (unknown !== undefined) throw unknownInput(unknown, info);
  const values = info.inputs.map((input) =>
    Object.hasOwn(given, input.name) && given[input.name] !== undefined
      ? given[input.name]
      : fixedValue(input),
  );
  const missing = info.inputs.flatMap(({ name }, i) => (values[i] === undefined ? name : []));
  if (missing.length > 0)
    throw new SconceError(
      "input",
      `method '${info.name}' takes ${counted(info.inputs.length, "input")}, and no value was given for: ${listed(missing)}`,
      "Pass a value for each name that inspect() tells.",
    );
  return values as Value[];
}

/** The same error with the name of an input in the place of its index, for callers by name. */
export function withName(error: unknown, index: number, name: string): unknown {
  if (!(error instanceof SconceError) || error.name !== "SconceError") return error;
  const place = new RegExp(`\\binput ${index}\\b`);
  const named = (text: string): string => text.replace(place, () => `input '${shortened(name)}'`);
  const diagnostics = error.diagnostics.map((d) => ({ ...d, message: named(d.message) }));
  return new SconceError(error.code, named(error.message), error.hint, diagnostics);
}

/** The values of a method's inputs in their order. */
export function orderedInputs(inputs: Inputs, info: ProgramMethodInfo): readonly Value[] {
  if (!Array.isArray(inputs)) return byName(inputs as Readonly<Record<string, Value>>, info);
  const { length } = info.inputs;
  if (inputs.length === length) return inputs;
  const names = listed(info.inputs.map(({ name }) => name));
  throw new SconceError(
    "input",
    `method '${info.name}' takes ${counted(length, "input")}, not ${inputs.length}`,
    length > 0 ? `Pass a value for each, in this order: ${names}.` : "Pass an empty list.",
  );
}
