// Calls of methods that sessions are given: that each fits its method, before anything is run on it.
import { badArgument } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { oneOf } from "../base/nearest.js";
import { nextTurn } from "../sink/write.js";
import { bytesOf, isTensorLike } from "../tensor/bytes.js";
import type { InputTuple, InputTuples, MethodSummary, TensorInfo } from "../types/index.js";

const shown = (shape: readonly (number | string)[]): string => `[${shape.join(", ")}]`;

function wrong(where: string, why: string): SconceError {
  return new SconceError("input", `${where} ${why}`, "Pass what the method was exported to take.");
}

/** The inputs that a call has to give. */
export const userInputs = ({ inputs }: MethodSummary): MethodSummary["inputs"] =>
  inputs.filter(({ role }) => role === "user_input");

/** True if a size is the declared one. A size that is not a number is known only in a run. */
const fits = (declared: number | string, size: number): boolean =>
  typeof declared === "string" || declared === size;

function checkTensor(where: string, info: TensorInfo, value: unknown): void {
  const { dtype, shape = [] } = info;
  const wanted = `a ${dtype} tensor ${shown(shape)}`;
  if (!isTensorLike(value as never)) throw wrong(where, `is not ${wanted}`);
  const given = value as { dtype: string; shape: readonly number[] };
  bytesOf(value as never, where);
  const isFit =
    given.dtype === dtype &&
    given.shape.length === shape.length &&
    shape.every((size, d) => fits(size, given.shape[d]!));
  if (!isFit) throw wrong(where, `is a ${given.dtype} tensor ${shown(given.shape)}, not ${wanted}`);
}

const TYPES: Partial<Record<TensorInfo["kind"], readonly string[]>> = {
  int: ["number", "bigint"],
  float: ["number"],
  bool: ["boolean"],
};

/** Throws unless a value is what an input takes; `where` names the value. */
export function checkValue(where: string, info: TensorInfo, value: unknown): void {
  if (info.kind === "tensor") return checkTensor(where, info, value);
  const types = TYPES[info.kind];
  if (types && !types.includes(typeof value)) throw badArgument(where, types.join(" or "), value);
}

/** Throws unless a call gives the inputs of its method; `where` names the call. */
export function checkCall(
  where: string,
  method: MethodSummary,
  call: unknown,
): asserts call is InputTuple {
  if (!Array.isArray(call)) throw badArgument(where, "a list with a value for each input", call);
  const inputs = userInputs(method);
  if (call.length !== inputs.length)
    throw wrong(
      where,
      `has ${call.length} value${call.length === 1 ? "" : "s"}, and method '${method.name}' takes ${inputs.length}`,
    );
  inputs.forEach((info, i) => checkValue(`input ${i} ('${info.name}') of ${where}`, info, call[i]));
}

/**
 * The calls as they come, each checked; none at all is an error. The event loop has its turn after
 * each: calls that are there at once would never let anybody cancel.
 */
export async function* checkedCalls(
  what: string,
  method: MethodSummary,
  calls: InputTuples,
): AsyncGenerator<InputTuple> {
  let count = 0;
  for await (const call of calls) {
    checkCall(`call ${count++} of the ${what} of method '${method.name}'`, method, call);
    yield call;
    await nextTurn();
  }
  if (count === 0)
    throw wrong(`the ${what} of method '${method.name}'`, "are empty: there is no call to run");
}

/** The error of naming a method that there is not. */
export function noMethod(
  where: string,
  name: string,
  methods: readonly { readonly name: string }[],
): SconceError {
  return new SconceError(
    "not_found",
    `${where} names an unknown method '${name}'`,
    oneOf(
      name,
      methods.map((method) => method.name),
    ),
  );
}
