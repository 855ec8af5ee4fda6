// Made-up inputs as people write them: zeros, ones or random, then a seed, then sizes.
//   random:SEED   random:SIZES   random:SEED:SIZES   zeros:SIZES   ones:SIZES
// Sizes are numbers with an x between them, 1x3x8. After random: a single number is the seed.
import { counted } from "../../base/counted.js";
import { SconceError } from "../../base/errors.js";
import { fill } from "../../tensor/fill.js";
import type { ProgramValueInfo, Value } from "../../types/index.js";

interface Filler {
  /** As the library knows it, without sizes. */
  readonly plain: string;
  readonly sizes: readonly number[] | undefined;
}

const SIZED = /^(zeros|ones)(?::(\d+(?:x\d+)*))?$/;
const RANDOM = /^random:(-?\d+)(?::(\d+(?:x\d+)*))?$/;
const RANDOM_SIZED = /^random:(\d+(?:x\d+)+)$/;

const numbersOf = (text: string | undefined): number[] | undefined => text?.split("x").map(Number);

/** The made-up input that a text means; undefined if it does not mean one. */
function parse(text: string): Filler | undefined {
  const [, sized, sizes] = SIZED.exec(text) ?? [];
  if (sized !== undefined) return { plain: sized, sizes: numbersOf(sizes) };
  const only = RANDOM_SIZED.exec(text);
  if (only) return { plain: "random:0", sizes: numbersOf(only[1]) };
  const random = RANDOM.exec(text);
  return random ? { plain: `random:${random[1]}`, sizes: numbersOf(random[2]) } : undefined;
}

/** True if the text requests made-up values: "zeros", "ones" or "random". */
export const isFiller = (text: string): boolean => parse(text) !== undefined;

/** True if the text can fill all inputs at once. Sizes are for one input. */
export const fillsAll = (text: string): boolean => {
  const filler = parse(text);
  return filler !== undefined && filler.sizes === undefined;
};

/** The sizes that the text has, if any. */
export const sizesOf = (text: string): readonly number[] | undefined => parse(text)?.sizes;

const shown = (sizes: readonly (number | string)[]): string => `[${sizes.join(", ")}]`;

/** The error of sizes that an input cannot have. */
export function wrongSizes(
  text: string,
  index: number,
  why: string,
  declared: readonly (number | string)[],
): SconceError {
  return new SconceError(
    "input",
    `input ${index}: ${text} ${why}`,
    `Give sizes that fit ${shown(declared)}.`,
  );
}

/** Throws where sizes are not those of the input; of a dynamic one, the declared are the largest. */
function checkSizes(text: string, info: ProgramValueInfo, index: number): void {
  const sizes = sizesOf(text);
  if (!sizes) return;
  const { kind, shape = [], dynamic } = info;
  if (kind !== "tensor")
    throw new SconceError(
      "input",
      `input ${index}: ${text} has sizes, but the input has the type ${kind}`,
      "Leave out the sizes.",
    );
  if (sizes.length !== shape.length)
    throw wrongSizes(text, index, `is not of ${counted(shape.length, "dimension")}`, shape);
  const wrong = sizes.findIndex((size, d) => (dynamic ? size > shape[d]! : size !== shape[d]));
  if (wrong < 0) return;
  const limit = dynamic ? `larger than ${shape[wrong]}` : `not ${shape[wrong]}`;
  throw wrongSizes(text, index, `has ${sizes[wrong]} as size ${wrong}, which is ${limit}`, shape);
}

/** The input that a text stands for; undefined where it is no made-up one. */
export function filled(text: string, info: ProgramValueInfo, index: number): Value | undefined {
  const filler = parse(text);
  if (!filler) return undefined;
  checkSizes(text, info, index);
  return fill(filler.plain, info, index, filler.sizes ?? info.shape);
}
