// The inputs of sconce run and sconce bundle: from files, numbers, fillers, records and calls.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { counted } from "../../base/counted.js";
import { missingData, SconceError } from "../../base/errors.js";
import { didYouMean } from "../../base/nearest.js";
import { onlyMethod } from "../../program/call.js";
import { flatValues } from "../../record/record.js";
import { isTensor } from "../../tensor/bytes.js";
import type {
  Engine,
  Program,
  ProgramMethodInfo,
  ProgramValueInfo,
  Value,
} from "../../types/index.js";
import { isInOrder, type CallInput, type CallInputs } from "../files/calls.js";
import { readWhole } from "../files/files.js";
import { filled, fillsAll } from "../files/fillers.js";
import { namedTexts, valuesByName } from "./named.js";
import { isInputStream, sourceOf } from "../files/streams.js";
import { UsageError } from "../usage.js";
import { parseInput, readArray, type Reader } from "../files/values.js";

/** The method of that name, or the one that needs no name; `advice` says where to put one. */
export function methodInfo(
  program: Program,
  name: string | undefined,
  advice = "Name one with --method",
): ProgramMethodInfo {
  const { methods } = program.inspect();
  const called = (wanted: string): ProgramMethodInfo | undefined =>
    methods.find((method) => method.name === wanted);
  const found = name === undefined ? (onlyMethod(methods) ?? called("forward")) : called(name);
  if (found) {
    const lacking = missingData([found], "Name the .ptd that was made with it: --data model.ptd.");
    if (lacking) throw lacking;
    return found;
  }
  const names = methods.map((m) => m.name);
  const meant = name === undefined ? "" : didYouMean(name, names);
  throw new SconceError(
    "not_found",
    name === undefined ? "the program has several methods" : `there is no method '${name}'`,
    `${meant} ${advice}: ${names.join(", ")}.`.trimStart(),
  );
}

function checkCount(info: ProgramMethodInfo, count: number): void {
  if (info.inputs.length === count) return;
  throw new SconceError(
    "input",
    `method '${info.name}' takes ${counted(info.inputs.length, "input")}, not ${count}`,
    "Pass one --input per flattened input, or a single zeros, ones or random:1.",
  );
}

/** The values of --input; a single filler stands for all of them. */
export function commandInputs(
  info: ProgramMethodInfo,
  texts: readonly string[],
  examples?: readonly Value[],
): Value[] {
  if (examples) {
    checkCount(info, examples.length);
    return [...examples];
  }
  if (texts.length === 1 && fillsAll(texts[0]!))
    return info.inputs.map((input, i) => filled(texts[0]!, input, i)!);
  const named = namedTexts(texts, info);
  if (named)
    return valuesByName(named, info, (text, input, i) => parseInput(text, input, i, readWhole));
  checkCount(info, texts.length);
  return texts.map((text, i) => parseInput(text, info.inputs[i]!, i, readWhole));
}

const EXAMPLE = "example";

function fits(value: Value, { kind, dtype, shape = [], dynamic }: ProgramValueInfo): boolean {
  // A number that changes from call to call is a tensor without dimensions in the program.
  if (!isTensor(value)) return kind !== "tensor" || (shape.length === 0 && value !== null);
  const isSize = (size: number, d: number): boolean =>
    dynamic ? size <= shape[d]! : size === shape[d];
  return value.dtype === dtype && value.shape.length === shape.length && value.shape.every(isSize);
}

/**
 * True if the values can be the inputs of the method. Those of a record may be for another method.
 */
const areOf = (info: ProgramMethodInfo, values: readonly Value[]): boolean =>
  values.length === info.inputs.length && values.every((value, i) => fits(value, info.inputs[i]!));

/** The inputs that a record holds for a method, on which --gap runs the program that it compares with. */
export function examplesOf(engine: Engine, path: string, info: ProgramMethodInfo): Value[] {
  const record = engine.parseEtrecord(sourceOf(path));
  try {
    const { methods } = record.inspect();
    // Records of one method may call it forward, whichever it is.
    const only = methods.length === 1 && methods[0] === "forward" ? "forward" : info.name;
    if (!methods.includes(only))
      throw new SconceError(
        "not_found",
        `the record ${path} has ${methods.join(", ")}, but not method '${info.name}'`,
        "Name the record of this program, or inputs as --input x.npy.",
      );
    const found = record.representativeInputs();
    const representative = found && flatValues(found);
    if (representative && areOf(info, representative)) return representative;
    const examples = record.exampleInputs(only);
    const flat = examples && flatValues(examples);
    if (flat && areOf(info, flat)) return flat;
    if (flat ?? representative)
      throw new SconceError(
        "input",
        `the inputs that ${path} holds do not fit method '${info.name}'`,
        "Name the record of this program, or inputs as --input x.npy.",
      );
    throw new SconceError(
      "not_found",
      `the record ${path} has no example inputs of method '${info.name}'`,
      methods.length > 1
        ? "Write a record of each method, sconce lower --etrecord-per-method FOLDER, or name inputs as --input x.npy."
        : "Lower a program that was exported with example inputs, or name inputs as --input x.npy.",
    );
  } finally {
    record.dispose();
  }
}

/** Checks that inputs come from a record only if both flags are given. */
export function checkExamples(texts: readonly string[], etrecord: string | undefined): void {
  const isAsked = texts.includes(EXAMPLE);
  if (isAsked && texts.length > 1)
    throw new UsageError("--input example takes all inputs: leave out the other --input flags");
  if (isAsked && etrecord === undefined)
    throw new UsageError("--input example needs the record: --etrecord model.etrecord");
  if (!isAsked && etrecord !== undefined)
    throw new UsageError(
      "--etrecord needs --input example, which takes its inputs from the record",
    );
}

// --- Calls -----------------------------------------------------------------------------------------

/** The files of calls: on the disk, or among the results of earlier calls. */
export interface Files {
  has(path: string): boolean;
  read: Reader;
}

const ON_DISK: Files = { has: existsSync, read: readWhole };

function callInput(
  value: CallInput,
  info: ProgramValueInfo,
  index: number,
  folder: string,
  files: Files,
): Value {
  if (value === null) return null;
  const read: Reader = (path) => files.read(path);
  if (typeof value === "string" && isInputStream(value)) return readArray(value, info, read);
  if (typeof value === "string" && info.kind === "string" && !value.endsWith(".npy")) return value;
  const text = typeof value === "object" ? value.number : String(value);
  if (!text.endsWith(".npy")) return parseInput(text, info, index, read);
  return readArray(files.has(text) ? text : resolve(folder, text), info, read);
}

/** The inputs of a call, from files that are looked up from here, then from `folder`. */
export function callInputs(
  info: ProgramMethodInfo,
  given: CallInputs,
  folder: string,
  files: Files = ON_DISK,
): Value[] {
  if (!isInOrder(given))
    return valuesByName(given, info, (value, input, i) =>
      callInput(value, input, i, folder, files),
    );
  const [first] = given;
  if (given.length === 1 && typeof first === "string" && fillsAll(first))
    return commandInputs(info, [first]);
  checkCount(info, given.length);
  return given.map((value, i) => callInput(value, info.inputs[i]!, i, folder, files));
}
