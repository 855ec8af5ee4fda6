// From the fields of the Run form to fillings, which say how inputs are made. What cannot be made is
// an error with the range that would do; nothing large is allocated before its size is known to be
// sane.
import type { ProgramValueInfo, Value } from "@sconce/types/index.js";
import type { Filling } from "../arrays.worker.js";
import type { InputForm } from "../state.js";
import { formatBytes, formatCount } from "../ui/format.js";
import { fault } from "./problems.js";

export const SEED_MAX = 999_999_999;
/** Most bytes of one input: the program that takes it needs room in the same 4 GB. */
const INPUT_BYTES_MAX = 2 ** 29;

const INTEGERS: Record<string, readonly [least: number, greatest: number]> = {
  bool: [0, 1],
  uint8: [0, 0xff],
  int8: [-0x80, 0x7f],
  uint16: [0, 0xffff],
  int16: [-0x8000, 0x7fff],
  uint32: [0, 0xffffffff],
  int32: [-0x80000000, 0x7fffffff],
  uint64: [0, Number.MAX_SAFE_INTEGER],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

const count = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1);

function parseNumbers(text: string): number[] {
  const numbers = text
    .split(/[\s,;[\]]+/)
    .filter(Boolean)
    .map(Number);
  if (!numbers.some(Number.isNaN)) return numbers;
  throw fault(
    "input",
    "these are not all numbers",
    "Write numbers with commas or spaces between them.",
  );
}

function checkBytes(info: ProgramValueInfo, shape: readonly number[]): void {
  const itemBytes = (info.bytes ?? 0) / (count(info.shape ?? []) || 1);
  const bytes = count(shape) * itemBytes;
  if (bytes <= INPUT_BYTES_MAX) return;
  throw fault(
    "limit",
    `this input takes ${formatBytes(bytes)}, and the page makes at most ${formatBytes(INPUT_BYTES_MAX)}`,
    info.dynamic ? "Write smaller sizes." : "Export the model for a smaller input.",
  );
}

/** Sizes of a tensor; those of a dynamic one are the user's, within what the program declares. */
function shapeOf(info: ProgramValueInfo, form: InputForm): number[] {
  const most = info.shape ?? [];
  const sizes = info.dynamic ? parseNumbers(form.shape) : [...most];
  const fits = (size: number, i: number): boolean =>
    Number.isInteger(size) && size >= 0 && size <= most[i]!;
  if (sizes.length !== most.length || !sizes.every(fits)) {
    throw fault(
      "input",
      `[${form.shape}] is not a shape that this input can have`,
      `Write ${most.length} whole numbers, at most [${most.join(", ")}].`,
    );
  }
  checkBytes(info, sizes);
  return sizes;
}

function scalarOf(info: ProgramValueInfo, text: string): Value {
  const word = text.trim();
  if (info.kind === "none") return null;
  if (info.kind === "string") return text;
  if (info.kind === "bool") return word === "true";
  if (info.kind === "int") {
    if (/^[-+]?\d{1,19}$/.test(word) && BigInt.asIntN(64, BigInt(word)) === BigInt(word))
      return BigInt(word);
    throw fault("input", `'${word}' is not a 64-bit whole number`, "Write digits only.");
  }
  if (word !== "" && !Number.isNaN(Number(word))) return Number(word);
  throw fault("input", `'${word}' is not a number`, "Write a number, such as 0.5.");
}

function checkElements(info: ProgramValueInfo, numbers: readonly number[]): void {
  const range = INTEGERS[info.dtype!];
  if (!range) return;
  const [least, greatest] = range;
  if (numbers.every((n) => Number.isInteger(n) && n >= least && n <= greatest)) return;
  throw fault(
    "input",
    `elements of ${info.dtype} are whole numbers from ${formatCount(least)} to ${formatCount(greatest)}`,
    "Change the numbers that are not.",
  );
}

function numbersOf(info: ProgramValueInfo, form: InputForm): Filling {
  const shape = shapeOf(info, form);
  const numbers = parseNumbers(form.text);
  if (numbers.length !== 1 && numbers.length !== count(shape)) {
    throw fault(
      "input",
      `[${shape.join(", ")}] takes ${formatCount(count(shape))} numbers, not ${formatCount(numbers.length)}`,
      `Write ${formatCount(count(shape))} numbers, or a single one for all.`,
    );
  }
  checkElements(info, numbers);
  return { kind: "numbers", numbers, info, shape };
}

function seedOf(text: string): number {
  const seed = Number(text);
  if (/^\d+$/.test(text.trim()) && seed <= SEED_MAX) return seed;
  throw fault(
    "input",
    `'${text.trim()}' is not a seed`,
    `Write a whole number from 0 to ${formatCount(SEED_MAX)}.`,
  );
}

/** How one input is made; throws what the user has to change. */
export function fillingOf(info: ProgramValueInfo, form: InputForm, index: number): Filling {
  if (info.kind !== "tensor") return { kind: "given", value: scalarOf(info, form.text) };
  if (form.filler === "numbers") return numbersOf(info, form);
  if (form.filler === "file") {
    if (form.tensor) return { kind: "given", value: form.tensor };
    throw fault("input", `input ${index} has no file yet`, "Choose an .npy file.");
  }
  const filler = form.filler === "random" ? `random:${seedOf(form.seed)}` : form.filler;
  return { kind: "fill", filler, info, index, shape: shapeOf(info, form) };
}
