// Flags that sconce lower and sconce export share: pairs, constants, and places of files.
import { parseConstant } from "../../call/constant.js";
import type { SconceError } from "../../base/errors.js";
import type { ConstantValue } from "../../types/index.js";
import type { Flags } from "../shell/flag.js";
import { isOutputStream } from "../files/streams.js";
import { UsageError } from "../usage.js";

/** Flags that both commands have. */
export const PROGRAM_FLAGS = {
  method: {
    type: "string",
    multiple: true,
    value: "NAME=FILE",
    text: "take FILE as method NAME",
  },
  import: {
    type: "string",
    multiple: true,
    value: "FILE",
    text: "a JavaScript module: its default export is a backend, its objects with a schema are operators, its functions are passes, and its objects with a function partition are partitioners",
  },
  constant: {
    type: "string",
    multiple: true,
    value: "NAME=VALUE",
    text:
      "add a method that returns VALUE: an integer (256, -0 is 0), a float (0.5, 1e3, -0.0, inf, nan), " +
      'true or false. JSON makes a list ([1, 2]), a dict ({"low": 0.5}), a dtype ({"dtype": "float16"}) or a ' +
      'tensor ({"tensor": [[1, 2]], "dtype": "int64"}). A JSON string ("256") and any other text are a string',
  },
  report: {
    type: "string",
    value: "FILE",
    text: "write a JSON report of where each node ended up, and why; - is the standard output",
  },
  etrecord: {
    type: "string",
    value: "FILE",
    text:
      "write an ETRecord for debugging and profiling: the programs of all stages, and which node each " +
      "instruction computes",
  },
  "etrecord-per-method": {
    type: "string",
    value: "DIR",
    text:
      "also write a record for each method, DIR/METHOD.etrecord. It names the method forward, because " +
      "the official inspector opens no other",
  },
} as const satisfies Flags;

function constantOf(text: string): ConstantValue {
  try {
    return parseConstant(text);
  } catch (error) {
    const { message, hint } = error as SconceError;
    throw new UsageError(message, hint);
  }
}

/** The values of --constant, by method. */
export const constantsOf = (flags: readonly string[]): Record<string, ConstantValue> =>
  Object.fromEntries(
    Object.entries(pairs(flags, "constant")).map(([name, text]) => [name, constantOf(text)]),
  );

function splitPair(text: string, what: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0 || at === text.length - 1)
    throw new UsageError(
      `--${what} takes NAME=${what === "method" ? "FILE" : "VALUE"}, not '${text}'`,
    );
  return [text.slice(0, at), text.slice(at + 1)];
}

/** NAME=TEXT, once or more, by name. */
export function pairs(list: readonly string[], what: string): Record<string, string> {
  // Without a prototype, so that any name is just a name.
  const result = Object.create(null) as Record<string, string>;
  for (const text of list) {
    const [name, value] = splitPair(text, what);
    if (Object.hasOwn(result, name)) throw new UsageError(`--${what} ${name} is given twice`);
    result[name] = value;
  }
  return result;
}

interface FileFlags {
  readonly output?: string | undefined;
  readonly report?: string | undefined;
  readonly etrecord?: string | undefined;
  readonly "etrecord-per-method"?: string | undefined;
}

/** The place of the program; a usage error if it, or a file next to it, has none. */
export function outputOf(flags: FileFlags): string {
  const { output, report, etrecord, "etrecord-per-method": perMethod } = flags;
  if (!output) throw new UsageError("say where the .pte goes: -o model.pte");
  if (report === "")
    throw new UsageError("say which file the report goes to: --report report.json");
  if (etrecord === "")
    throw new UsageError("say which file the record goes to: --etrecord model.etrecord");
  if (perMethod === "" || (perMethod !== undefined && isOutputStream(perMethod)))
    throw new UsageError("say which folder the records go to: --etrecord-per-method records");
  return output;
}
