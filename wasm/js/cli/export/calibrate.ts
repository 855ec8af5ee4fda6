// The flag --calibrate: which calls of which method it is. All are checked before anything is
// exported, and read again one by one when they run: a thousand of them never are in memory at once.
import { counted } from "../../base/counted.js";
import { SconceError } from "../../base/errors.js";
import { checkCall, noMethod, userInputs } from "../../recipe/inputs.js";
import type {
  Engine,
  InputTuple,
  InputTuples,
  MethodSummary,
  ProgramValueInfo,
  Programs,
  TensorInfo,
} from "../../types/index.js";
import { isFile, isFolder, readWhole } from "../files/files.js";
import { isFiller, sizesOf, wrongSizes } from "../files/fillers.js";
import { arraysIn, foldersIn, globbed, isPattern } from "../files/glob.js";
import { isInputStream } from "../files/streams.js";
import { UsageError } from "../usage.js";
import { parseInput } from "../files/values.js";

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

/** The name before a colon. The colon of a drive, of random:1 or of a file does not count. */
function nameBefore(text: string, firstValue: string): string | undefined {
  const at = text.indexOf(":");
  if (at < 2 || isFiller(firstValue) || isFile(firstValue)) return undefined;
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

/** The bounds of a dynamic size, where it is a symbol by itself. */
function checkBounds(text: string, index: number, info: TensorInfo, method: MethodSummary): void {
  const shape = info.shape ?? [];
  for (const [d, size] of (sizesOf(text) ?? []).entries()) {
    const declared = shape[d];
    const symbol = method.symbols.find(({ name }) => name === declared);
    const [least, most] =
      typeof declared === "number" ? [declared, declared] : [symbol?.min ?? 0, symbol?.max ?? null];
    if (size < least || (most !== null && size > most))
      throw wrongSizes(
        text,
        index,
        `has ${size} as size ${d}, which is not in [${least}, ${most ?? "inf"}]`,
        shape,
      );
  }
}

/** More bytes for one made-up input are most likely a mistake. */
const FILLED_MAX = 2 ** 31;

/** The type that a value is read as. Made-up ones need all sizes: those of the method, or their own. */
function infoOf(
  engine: Engine,
  text: string,
  index: number,
  info: TensorInfo,
  method: MethodSummary,
): ProgramValueInfo {
  const declared = info.shape ?? [];
  const own = sizesOf(text);
  const isOpen = declared.some((size) => typeof size !== "number");
  if (isOpen && isFiller(text) && !own)
    throw new SconceError(
      "input",
      `${text} has no sizes, and input '${info.name}' has dynamic ones`,
      `Give it sizes that fit [${declared.join(", ")}], as in ${text}:1x3, or pass an .npy file.`,
    );
  if (own && info.kind === "tensor" && own.length !== declared.length)
    throw wrongSizes(text, index, `is not of ${counted(declared.length, "dimension")}`, declared);
  checkBounds(text, index, info, method);
  const fixed = declared.flatMap((size) => (typeof size === "number" ? size : []));
  const sizes = isOpen && own ? [...own] : fixed;
  const item = engine.meta().dtypes.find(({ name }) => name === info.dtype)?.bytes ?? 0;
  const bytes = sizes.reduce((product, size) => product * size, item);
  if (own && bytes > FILLED_MAX)
    throw wrongSizes(text, index, `would take ${bytes} bytes`, declared);
  return {
    name: info.name,
    kind: KINDS[info.kind] ?? "none",
    ...(info.dtype && { dtype: info.dtype }),
    shape: sizes,
    bytes,
  };
}

function checkCount(flag: string, method: MethodSummary, given: number, taken: number): void {
  if (given === taken) return;
  throw new SconceError(
    "input",
    `--calibrate ${flag} has ${counted(given, "value")}, and method '${method.name}' takes ${taken}`,
    "Pass what the method was exported to take. A comma parts two inputs, unless a file has it in its name.",
  ).ofMethod(method.name);
}

// --- Several calls of one flag -----------------------------------------------------------------------

/** True for a text that means several files: a pattern, or a folder. */
const isSeveral = (text: string): boolean =>
  !isFile(text) && !isFiller(text) && (isPattern(text) || isFolder(text));

/** The files of a pattern or a folder. */
const severalOf = (text: string): string[] =>
  isPattern(text) ? globbed(text).filter(isFile) : arraysIn(text);

function filesFor(flag: string, text: string): string[] {
  const files = severalOf(text);
  if (files.length > 0) return files;
  const what = isPattern(text) ? "fits no file" : "is a folder without .npy files";
  throw new SconceError("not_found", `--calibrate ${flag}: ${text} ${what}`, "Check the path.");
}

/** A folder for a method of several inputs: each folder in it is a call, and its files the inputs. */
const callsInFolders = (folder: string): string[][] => foldersIn(folder).map(arraysIn);

/** The calls of a flag, as a text for each input. Single values stand for all calls. */
function callsOf(flag: string, texts: readonly string[], taken: number): string[][] {
  const [only] = texts;
  if (taken > 1 && texts.length === 1 && isSeveral(only!) && isFolder(only!)) {
    const calls = callsInFolders(only!);
    if (calls.length > 0) return calls;
  }
  const columns = texts.map((text) => (isSeveral(text) ? filesFor(flag, text) : text));
  const lists = columns.filter((column) => typeof column !== "string");
  const [first] = lists;
  if (!first) return [[...texts]];
  const other = lists.find(({ length }) => length !== first.length);
  if (other)
    throw new SconceError(
      "input",
      `--calibrate ${flag} has ${counted(first.length, "file")} for one input and ${other.length} for another`,
      "Give each input as many files: a call takes one of each.",
    );
  return first.map((_, i) =>
    columns.map((column) => (typeof column === "string" ? column : column[i]!)),
  );
}

/** One call that is read when it is asked for. */
type Reading = () => InputTuple;

function readings(
  engine: Engine,
  flag: string,
  methods: readonly MethodSummary[],
): [string, Reading[]] {
  const [method, texts] = split(flag, methods);
  const inputs = userInputs(method);
  const calls = callsOf(flag, texts, inputs.length).map((call): Reading => {
    checkCount(flag, method, call.length, inputs.length);
    return () => {
      const values = call.map((text, i) => {
        const info = inputs[i]!;
        return parseInput(text, infoOf(engine, text, i, info, method), i, readWhole);
      });
      checkCall(`--calibrate ${call.join(",")}`, method, values);
      return values;
    };
  });
  return [method.name, calls];
}

/** The calls of the flags, by method; each is read twice, and has been checked once. */
export function calibrationOf(
  engine: Engine,
  flags: readonly string[],
  methods: readonly MethodSummary[],
): Record<string, InputTuples> {
  const all = new Map<string, Reading[]>();
  for (const flag of flags) {
    const [name, calls] = readings(engine, flag, methods);
    for (const read of calls) read();
    all.set(name, [...(all.get(name) ?? []), ...calls]);
  }
  return Object.fromEntries(
    [...all].map(([name, calls]) => [
      name,
      {
        length: calls.length,
        *[Symbol.iterator]() {
          for (const read of calls) yield read();
        },
      },
    ]),
  );
}

/** The files among the values, which no output may replace: colons and commas may be in their names. */
export const filesOf = (flags: readonly string[]): string[] =>
  flags.flatMap((flag) => {
    const starts = [0, ...Array.from(flag.matchAll(/[,:]/g), ({ index }) => index + 1)];
    const after = starts.flatMap((at) => valuesOf(flag.slice(at)));
    const files = after.flatMap((text) => (isSeveral(text) ? severalOf(text) : text));
    return [...new Set(files)].filter((text) => text.endsWith(".npy") || isInputStream(text));
  });
