// Iterables of example calls, of which some can be gone through once only.
import { isObject, KINDS } from "./check.js";
import { SconceError } from "./errors.js";

/** An iterator, which gives values or promises of them. */
export type Iterated = AsyncIterator<unknown> | Iterator<unknown>;

/** True if `value` can be iterated, synchronously or asynchronously. */
export const isIterable = (value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> =>
  isObject(value) && (Symbol.iterator in value || Symbol.asyncIterator in value);

/** How many calls there are, of iterables that tell it as lists and sets do; else 0. */
export function countOf(calls: object): number {
  const { length, size = length } = calls as { length?: unknown; size?: unknown };
  return KINDS.index.test(size) ? Number(size) : 0;
}

/** Iterators that have begun: they do so once. */
const begun = new WeakSet<object>();

/** An iterator of the calls. A generator is one itself, and has no second. */
export function iterate(calls: Iterable<unknown> | AsyncIterable<unknown>): Iterated {
  const iterator: Iterated =
    Symbol.asyncIterator in calls ? calls[Symbol.asyncIterator]() : calls[Symbol.iterator]();
  if ((iterator as unknown) !== calls) return iterator;
  if (begun.has(iterator))
    throw new SconceError(
      "state",
      "'exampleInputs' is an iterator that another run has used up",
      "Pass a list, or an object whose [Symbol.asyncIterator]() begins anew.",
    );
  begun.add(iterator);
  return iterator;
}
