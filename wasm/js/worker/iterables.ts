// Iterables among the options of a call to a worker. They stay where they are, and the worker asks
// for one item after the other: the next is made when the one before it has been used.
import { iterate, isIterable } from "../base/iterable.js";
import { isPlain } from "../base/check.js";
import { fromPlainError, SconceError, toPlainError, type PlainError } from "../base/errors.js";

/** The worker asks for the next item of an iteration, which is new or goes on, or ends it. */
export interface Pull {
  readonly type: "pull";
  readonly asked: number;
  readonly stream: number;
  /** Each time that the worker begins anew has a number of its own. */
  readonly iteration: number;
  readonly end: boolean;
}

/** The answer to a request for the next call. */
export interface Pulled {
  readonly type: "pulled";
  readonly asked: number;
  readonly done: boolean;
  readonly value?: unknown;
  readonly error?: PlainError;
}

/** Stands for an iterable of the caller in what is sent. */
const STREAM = "$stream";

type Items = Iterable<unknown> | AsyncIterable<unknown>;

const isStream = (value: unknown): value is Items => !Array.isArray(value) && isIterable(value);

/** Iterables, alone or by name, replaced by what `by` makes of them. */
function replaced(value: unknown, by: (items: Items) => unknown): unknown {
  if (isStream(value)) return by(value);
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, isStream(item) ? by(item) : item]),
  );
}

// --- The caller's end --------------------------------------------------------------------------------

/** The iterables of a caller that its worker may ask for. */
export class Streams {
  private readonly items = new Map<number, Items>();
  private readonly iterators = new Map<string, AsyncIterator<unknown> | Iterator<unknown>>();
  /** Errors that iterables have thrown: the caller gets them as they are. */
  private readonly thrown = new Map<number, unknown>();
  private next = 1;

  /** The value as it is sent, and the streams in it. */
  marked(value: unknown): { sent: unknown; streams: number[] } {
    const streams: number[] = [];
    const sent = replaced(value, (items) => {
      const stream = this.next++;
      this.items.set(stream, items);
      streams.push(stream);
      return { [STREAM]: stream };
    });
    return { sent, streams };
  }

  /** Forgets streams that nobody will ask for. */
  forget(streams: readonly number[]): void {
    for (const stream of streams) {
      this.items.delete(stream);
      this.thrown.delete(stream);
      for (const [key, iterator] of this.iterators)
        if (key.startsWith(`${stream}.`)) {
          this.iterators.delete(key);
          void Promise.resolve(iterator.return?.()).catch(() => undefined);
        }
    }
  }

  /** The error of the caller's own that made a call with these streams fail, or else that of the call. */
  causeOf(streams: readonly number[], error: unknown): unknown {
    const own = streams.find((stream) => this.thrown.has(stream));
    return own === undefined ? error : this.thrown.get(own);
  }

  private iteratorOf({ stream, iteration }: Pull): AsyncIterator<unknown> | Iterator<unknown> {
    const key = `${stream}.${iteration}`;
    const found = this.iterators.get(key);
    if (found) return found;
    const items = this.items.get(stream);
    if (!items)
      throw new SconceError("cancelled", "the call was cancelled", "Start again when ready.");
    const iterator = iterate(items);
    this.iterators.set(key, iterator);
    return iterator;
  }

  /** The answer to what the worker asks. */
  async answer(pull: Pull): Promise<Pulled> {
    const { asked, stream, iteration, end } = pull;
    const key = `${stream}.${iteration}`;
    try {
      if (end) {
        const iterator = this.iterators.get(key);
        this.iterators.delete(key);
        await iterator?.return?.();
        return { type: "pulled", asked, done: true };
      }
      const { done = false, value } = await this.iteratorOf(pull).next();
      if (done) this.iterators.delete(key);
      return { type: "pulled", asked, done, ...(!done && { value }) };
    } catch (error) {
      return this.failed(pull, error);
    }
  }

  /** The answer for an item that there is not; the call with the stream fails with the error. */
  failed({ asked, stream }: Pull, error: unknown): Pulled {
    if (this.items.has(stream)) this.thrown.set(stream, error);
    return { type: "pulled", asked, done: true, error: toPlainError(error) };
  }

  /** Ends all iterations: the worker will not ask again. */
  end(): void {
    this.forget([...this.items.keys()]);
  }
}

// --- The worker's end --------------------------------------------------------------------------------

interface Waiting {
  resolve(answer: IteratorResult<unknown>): void;
  reject(error: Error): void;
}

/** Asks the caller for items of its iterables. */
export class Puller {
  private readonly waiting = new Map<number, Waiting>();
  private asked = 1;
  private iterations = 1;

  constructor(private readonly send: (pull: Pull) => void) {}

  private ask(stream: number, iteration: number, end: boolean): Promise<IteratorResult<unknown>> {
    const asked = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(asked, { resolve, reject });
      this.send({ type: "pull", asked, stream, iteration, end });
    });
  }

  private iterable(stream: number): AsyncIterable<unknown> {
    return {
      [Symbol.asyncIterator]: () => {
        const iteration = this.iterations++;
        return {
          next: () => this.ask(stream, iteration, false),
          return: () => this.ask(stream, iteration, true),
        };
      },
    };
  }

  /** Iterables for the marks of such, alone or by name. */
  unmarked(value: unknown): unknown {
    if (!isPlain(value)) return value;
    const stream = value[STREAM];
    if (typeof stream === "number") return this.iterable(stream);
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        isPlain(item) && typeof item[STREAM] === "number" ? this.iterable(item[STREAM]) : item,
      ]),
    );
  }

  receive({ asked, done, value, error }: Pulled): void {
    const waiting = this.waiting.get(asked);
    this.waiting.delete(asked);
    if (error) waiting?.reject(fromPlainError(error));
    else waiting?.resolve({ done, value });
  }
}
