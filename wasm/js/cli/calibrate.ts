// The flag --calibrate: which call of which method it is, read from files and checked before anything
// is exported.
import { SconceError } from "../errors.js";
import { checkCall, noMethod, userInputs } from "../inputs.js";
import type {
  Engine,
  InputTuple,
  MethodSummary,
  ProgramValueInfo,
  Programs,
  TensorInfo,
} from "../types.js";
import { UsageError } from "./common.js";
import { isFile, readWhole } from "./files.js";
import { FILLERS, parseInput } from "./values.js";

/** The methods in files, with what they take. */
export function methodsIn(engine: Engine, programs: Programs): MethodSummary[] {
  const opened = engine.open(programs);
  const { methods } = opened.inspect().stages[0]!;
  opened.dispose();
  return methods;
}

/** How many pieces between commas are the first value: several where a file is called so. */
function lengthOfFirst(pieces: readonly string[]): number {
  if (isFile(pieces[0]!)) return 1;
  for (let length = pieces.length; length > 1; length--)
    if (pieces[length - 1]!.endsWith(".npy") && isFile(pieces.slice(0, length).join(",")))
      return length;
  return 1;
}

/** Values with commas between them. */
function valuesOf(text: string): string[] {
  const pieces = text.split(",");
  const values: string[] = [];
  while (pieces.length > 0) values.push(pieces.splice(0, lengthOfFirst(pieces)).join(","));
  return values;
}

/** The name before a colon, where it is none of a drive, of random:1 or of a file. */
function nameBefore(text: string, firstValue: string): string | undefined {
  const at = text.indexOf(":");
  if (at < 2 || FILLERS.test(firstValue) || isFile(firstValue)) return undefined;
  const name = text.slice(0, at);
  return name === "random" || /[/\\,]/.test(name) ? undefined : name;
}

/** Values after NAME: where that is a method, the longest name that fits. */
function split(text: string, methods: readonly MethodSummary[]): [MethodSummary, string[]] {
  const [named] = methods
    .filter(({ name }) => text.startsWith(`${name}:`))
    .sort((a, b) => b.name.length - a.name.length);
  if (named) return [named, valuesOf(text.slice(named.name.length + 1))];
  const values = valuesOf(text);
  const name = nameBefore(text, values[0]!);
  if (name !== undefined) throw noMethod(`--calibrate ${text}`, name, methods);
  if (methods.length === 1) return [methods[0]!, values];
  throw new UsageError(
    `--calibrate ${text} does not say which method it is a call of`,
    `Write --calibrate NAME:x.npy with one of: ${methods.map(({ name }) => name).join(", ")}.`,
  );
}

const KINDS: Partial<Record<TensorInfo["kind"], ProgramValueInfo["kind"]>> = {
  tensor: "tensor",
  int: "int",
  float: "double",
  bool: "bool",
};

/** What a value is read as. Sizes matter to fillers only, which need all of them. */
function infoOf(engine: Engine, text: string, info: TensorInfo): ProgramValueInfo {
  const sizes = (info.shape ?? []).flatMap((size) => (typeof size === "number" ? size : []));
  const isOpen = sizes.length < (info.shape ?? []).length;
  if (isOpen && FILLERS.test(text))
    throw new SconceError(
      "input",
      `${text} cannot stand for input '${info.name}', which has sizes that are known only when running`,
      "Pass an .npy file.",
    );
  const item = engine.meta().dtypes.find(({ name }) => name === info.dtype)?.bytes ?? 0;
  return {
    name: info.name,
    kind: KINDS[info.kind] ?? "none",
    ...(info.dtype && { dtype: info.dtype }),
    shape: sizes,
    bytes: sizes.reduce((product, size) => product * size, item),
  };
}

function checkCount(flag: string, method: MethodSummary, given: number, taken: number): void {
  if (given === taken) return;
  throw new SconceError(
    "input",
    `--calibrate ${flag} has ${given} value${given === 1 ? "" : "s"}, and method '${method.name}' takes ${taken}`,
    "Pass what the method was exported to take. A comma parts two inputs, unless a file has it in its name.",
  ).ofMethod(method.name);
}

/** The calls of the flags, by method. */
export function calibrationOf(
  engine: Engine,
  flags: readonly string[],
  methods: readonly MethodSummary[],
): Record<string, InputTuple[]> {
  const calls = new Map<string, InputTuple[]>();
  for (const flag of flags) {
    const [method, texts] = split(flag, methods);
    const inputs = userInputs(method);
    checkCount(flag, method, texts.length, inputs.length);
    const call = texts.map((text, i) =>
      inputs[i] ? parseInput(text, infoOf(engine, text, inputs[i]), i, readWhole) : null,
    );
    checkCall(`--calibrate ${flag}`, method, call);
    calls.set(method.name, [...(calls.get(method.name) ?? []), call]);
  }
  return Object.fromEntries(calls);
}

/** The files among the values, which no output may replace: colons and commas may be in their names. */
export const filesOf = (flags: readonly string[]): string[] =>
  flags.flatMap((flag) => {
    const starts = [0, ...Array.from(flag.matchAll(/[,:]/g), ({ index }) => index + 1)];
    const after = starts.flatMap((at) => valuesOf(flag.slice(at)));
    return [...new Set(after)].filter((text) => text.endsWith(".npy"));
  });
