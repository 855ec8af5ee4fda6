// The example calls of sessions: lists, or iterables that make one call after the other, so that a
// thousand of them never are in memory at once. Each is checked before anything runs on it.
import { orAborted } from "../base/abort.js";
import { badArgument, isObject, KINDS } from "../base/check.js";
import { countOf, isIterable, iterate, type Iterated } from "../base/iterable.js";
import { SconceError } from "../base/errors.js";
import { checkCall, noMethod } from "./inputs.js";
import { copyOf, isTensorLike } from "../tensor/bytes.js";
import type { ExampleInputs, InputTuple, InputTuples, MethodSummary } from "../types/index.js";

/** The calls of one method, as a session has them. */
export interface GivenCalls {
  /** The first of them; of a list all. */
  readonly first: readonly InputTuple[];
  /** All of them, to be gone through once; undefined of a list, whose calls are `first`. */
  readonly all: InputTuples | undefined;
  /** Tells the iterable that no more will be asked for. */
  close(): Promise<void>;
}

/** Calls of an iterable that are read ahead: the example, and what a quantized program is compared on. */
const AHEAD = 2;

/** The next call; an iterator that waits for ever does not outlive the signal. */
const nextOf = (
  iterator: Iterated,
  signal: AbortSignal | undefined,
): Promise<IteratorResult<unknown>> => orAborted(() => iterator.next(), signal);

async function* following(
  first: readonly InputTuple[],
  iterator: Iterated,
  signal: AbortSignal | undefined,
): AsyncGenerator<InputTuple> {
  yield* first;
  for (;;) {
    const next = await nextOf(iterator, signal);
    if (next.done) return;
    // The receiver checks it.
    yield next.value as InputTuple;
  }
}

const whereOf = (index: number, name: string): string =>
  `call ${index} of 'exampleInputs' of method '${name}'`;

/** The calls of an iterable, of which the first have been read. */
async function begin(
  method: MethodSummary,
  calls: Iterable<unknown> | AsyncIterable<unknown>,
  signal: AbortSignal | undefined,
): Promise<GivenCalls> {
  const iterator = iterate(calls);
  const close = async (): Promise<void> => void (await iterator.return?.());
  const first: InputTuple[] = [];
  try {
    while (first.length < AHEAD) {
      const next = await nextOf(iterator, signal);
      if (next.done) return { first, all: undefined, close };
      checkCall(whereOf(first.length, method.name), method, next.value);
      // Arrays are the caller's, who may fill them again for the next call.
      first.push(next.value.map(copyOf));
    }
  } catch (error) {
    // The error that matters is the one that is there.
    if (!signal?.aborted) await close().catch(() => undefined);
    throw error;
  }
  // A progress can tell how many there are to come.
  const all = Object.assign(following(first, iterator, signal), { length: countOf(calls) });
  return { first, all, close };
}

const closed = (): Promise<void> => Promise.resolve();

/** The error of a call, or of a value of one, in the place of the list of calls. */
function unwrapped(name: string, calls: unknown): SconceError {
  const { message } = badArgument(
    `'exampleInputs' of method '${name}'`,
    "a list of calls, each a list",
    calls,
  );
  return new SconceError(
    "argument",
    message,
    "Write a list of lists: [[x]] is one call with one input, [[a, b], [c, d]] two with two.",
  );
}

function callsOf(
  name: string,
  calls: unknown,
  methods: readonly MethodSummary[],
  signal: AbortSignal | undefined,
): Promise<GivenCalls> | GivenCalls {
  const method = methods.find((one) => one.name === name);
  if (!method) throw noMethod("'exampleInputs'", name, methods);
  if (!Array.isArray(calls) && isIterable(calls)) return begin(method, calls, signal);
  if (!Array.isArray(calls) || (isObject(calls[0]) && !Array.isArray(calls[0])))
    throw unwrapped(name, calls);
  calls.forEach((call, i) => checkCall(whereOf(i, name), method, call));
  return { first: calls as InputTuple[], all: undefined, close: closed };
}

const isOne = (given: unknown): boolean => Array.isArray(given) || isIterable(given);

/** Calls by method, as they were given; the names are checked by `methods`. */
export async function callsByMethod(
  given: ExampleInputs | undefined,
  methods: readonly MethodSummary[],
  signal?: AbortSignal,
): Promise<Record<string, GivenCalls>> {
  if (given === undefined) return {};
  const names = methods.map(({ name }) => name);
  if (isTensorLike(given as never)) throw unwrapped(names[0]!, given);
  if (!isOne(given) && !KINDS.record.test(given))
    throw badArgument("'exampleInputs'", "a list of calls, or lists by method", given);
  if (isOne(given) && methods.length > 1)
    throw new SconceError(
      "argument",
      "'exampleInputs' is a list, and there are several methods",
      `Say which calls are of which method, by name: ${names.join(", ")}.`,
    );
  const map = isOne(given) ? { [names[0]!]: given } : given;
  const made: Record<string, GivenCalls> = {};
  for (const [name, calls] of Object.entries(map as Record<string, unknown>))
    made[name] = await callsOf(name, calls, methods, signal);
  return made;
}
