// The file of --calls: a list of calls in JSON. Every input is checked here, and
// numbers are still text, because JSON.parse forgets the digits that a double cannot hold.
import { badArgument, checkTable, KINDS, type Kind } from "../../base/check.js";
import { SconceError } from "../../base/errors.js";
import { readWhole, reason } from "./files.js";

/** Text is what --input takes; `number` is one as the file has it. */
export type CallInput = string | boolean | null | { readonly number: string };

/** In order, or by name. */
export type CallInputs = readonly CallInput[] | Readonly<Record<string, CallInput>>;

/** True if the inputs of a call are a list, rather than by name. */
export const isInOrder = (inputs: CallInputs): inputs is readonly CallInput[] =>
  Array.isArray(inputs);

/** A call in a file of --calls. */
export interface Call {
  method?: string;
  inputs: CallInputs;
  out?: string;
  /** For bundles: a .npy for each output. */
  expected?: string[];
}

const LIST_OR_RECORD: Kind = {
  accepts: "a list, or an object with a value for each name",
  test: (value) => Array.isArray(value) || KINDS.record.test(value),
};
const CALL = {
  method: "name",
  inputs: LIST_OR_RECORD,
  out: "name",
  expected: "names",
} as const;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
const INPUTS = "text, a number, true, false or null";

function parseJson(path: string): { plain: unknown; exact: unknown } {
  try {
    const text = new TextDecoder().decode(readWhole(path));
    const plain: unknown = JSON.parse(text);
    const numbers = text.replace(TOKENS, (t) => (t.startsWith('"') ? t : `{"number": "${t}"}`));
    return { plain, exact: JSON.parse(numbers) };
  } catch (error) {
    throw new SconceError(
      "format",
      `cannot read ${path}: ${reason(error)}`,
      "Pass a JSON file with a list of calls.",
    );
  }
}

function isInput(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function checkCall(where: string, call: unknown): void {
  if (!KINDS.record.test(call)) throw badArgument(where, "an object", call);
  checkTable(where, call, CALL);
  const { inputs = [] } = call as { inputs?: object };
  for (const [key, value] of Object.entries(inputs) as [string, unknown][])
    if (!isInput(value)) throw badArgument(`inputs[${key}] of ${where}`, INPUTS, value);
}

/** Reads a file of --calls. */
export function readCalls(path: string): Call[] {
  const { plain, exact } = parseJson(path);
  if (!Array.isArray(plain)) {
    throw new SconceError(
      "format",
      `${path} is not a list of calls`,
      'Write [{"method": "forward", "inputs": ["x.npy"], "out": "folder"}].',
    );
  }
  plain.forEach((call, i) => checkCall(`call ${i} of ${path}`, call));
  return (exact as Partial<Call>[]).map((call) => ({ inputs: [], ...call }));
}
