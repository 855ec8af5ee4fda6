// Shapes as callers give them: sizes, one of which may follow from the others.
import { badArgument, KINDS } from "../base/check.js";
import { SconceError } from "../base/errors.js";

/** The words for shapes. */
export const SHAPE = "a list of whole numbers, 0 or more";

/** True for a shape. */
export const isShape = (shape: unknown): shape is readonly number[] =>
  Array.isArray(shape) && Array.from(shape).every(KINDS.index.test);

/** The number of elements of a shape. */
export const countOf = (shape: readonly number[]): number =>
  shape.reduce((product, size) => product * size, 1);

const SHOWN_MAX = 16;

/** A shape in a message: a caller's can be of any length. */
function shown(shape: readonly number[]): string {
  const more = shape.length > SHOWN_MAX ? `, … (${shape.length} sizes)` : "";
  return `[${shape.slice(0, SHOWN_MAX).join(", ")}${more}]`;
}

/** A shape whose -1, if there is one, is replaced by what `count` elements need. */
function wholeShape(given: unknown, count: number): readonly number[] {
  const sizes: unknown[] = Array.isArray(given) ? Array.from(given as unknown[]) : [];
  const at = sizes.indexOf(-1);
  const rest = at < 0 ? sizes : sizes.toSpliced(at, 1);
  if (!Array.isArray(given) || !isShape(rest))
    throw badArgument("the shape", `${SHAPE}, one of them -1 if it follows from the others`, given);
  if (at < 0) return rest;
  const others = countOf(rest);
  if (others > 0 && count % others === 0) return sizes.with(at, count / others) as number[];
  throw new SconceError(
    "shape",
    `no size in the place of -1 makes the shape [${sizes.join(", ")}] hold ${count} elements`,
    others > 0 ? `Pass a multiple of ${others} elements.` : "Pass that size instead of -1.",
  );
}

/** The shape as it is to be, and it holds as many elements as there are. */
export function shapeFor(given: unknown, count: number): readonly number[] {
  const shape = wholeShape(given, count);
  if (countOf(shape) === count) return shape;
  throw new SconceError(
    "shape",
    `${count} elements do not fill the shape ${shown(shape)}`,
    "Pass as many elements as the product of the sizes.",
  );
}
