// The flag --calibrate: which call of which method it is, read from files and checked before anything
// is exported.
import { SconceError } from "../errors.js";
import { checkCall, userInputs } from "../inputs.js";
import type {
  Engine,
  InputTuple,
  MethodSummary,
  ProgramValueInfo,
  Programs,
  TensorInfo,
} from "../types.js";
import { UsageError } from "./common.js";
import { readWhole } from "./files.js";
import { FILLERS, parseInput } from "./values.js";

/** The methods in files, with what they take. */
export function methodsIn(engine: Engine, programs: Programs): MethodSummary[] {
  const opened = engine.open(programs);
  const { methods } = opened.inspect().stages[0]!;
  opened.dispose();
  return methods;
}

/** Values with commas between them, after NAME: where that is a method. */
function split(text: string, methods: readonly MethodSummary[]): [MethodSummary, string[]] {
  const at = text.indexOf(":");
  const named = methods.find(({ name }) => at > 0 && name === text.slice(0, at));
  if (named) return [named, text.slice(at + 1).split(",")];
  if (methods.length === 1) return [methods[0]!, text.split(",")];
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
    kind: KINDS[info.kind] ?? "none",
    ...(info.dtype && { dtype: info.dtype }),
    shape: sizes,
    bytes: sizes.reduce((product, size) => product * size, item),
  };
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
    const call = texts.map((text, i) =>
      inputs[i] ? parseInput(text, infoOf(engine, text, inputs[i]), i, readWhole) : null,
    );
    checkCall(`--calibrate ${flag}`, method, call);
    calls.set(method.name, [...(calls.get(method.name) ?? []), call]);
  }
  return Object.fromEntries(calls);
}

/** The files among the values, which no output may replace. */
export const filesOf = (flags: readonly string[]): string[] =>
  flags.flatMap((flag) => flag.split(/[,:]/)).filter((text) => text.endsWith(".npy"));
