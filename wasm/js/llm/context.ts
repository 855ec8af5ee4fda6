// The cache of a program and the tokens that it holds: new tokens are run, in calls as long as the
// program takes, and tokens that a prompt shares with the cache are not run again.
import { cancelled, SconceError, withCause } from "../base/errors.js";
import { isTensorLike } from "../tensor/bytes.js";
import { write } from "../tensor/dtypes.js";
import { roundedNumbers } from "../tensor/numbers.js";
import type { HostAbortSignal } from "../types/host.js";
import type { InputValue, ProgramValueInfo, Tensor, TensorData, Value } from "../types/index.js";
import {
  nextCall,
  takesOne,
  type Embedding,
  type Encoder,
  type Layout,
  type Step,
} from "./layout.js";
import type { MediaRows } from "./media.js";
import { pause } from "./pause.js";
import { Scores } from "./scores.js";
import type { LanguageProgram } from "./types.js";

/** Longer work of an engine keeps the thread from its other work, such as a button that stops it. */
const PAUSE_MS = 8;

const integers = (values: readonly number[], info: ProgramValueInfo): InputValue => {
  if (info.kind === "int") return values[0]!;
  const shape = info.shape?.length === 0 ? [] : [values.length];
  const isWide = info.dtype !== "int32";
  const data = isWide ? BigInt64Array.from(values, BigInt) : Int32Array.from(values);
  const dtype = isWide ? "int64" : "int32";
  return { dtype, shape: info.shape?.length === 2 ? [1, ...shape] : shape, data } as Tensor;
};

const upTo = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => from + i);

/** A tensor [1, S, ...] with a row for each of `count` tokens. */
function rowsOf(value: Value | undefined, method: string, count: number): Tensor {
  const shape = isTensorLike(value) ? value.shape : [];
  if (shape[0] === 1 && shape[1] === count && shape.length > 2) return value as Tensor;
  throw new SconceError(
    "mismatch",
    `method '${method}' did not give a row for each of ${count} tokens`,
    "Export the model again: its methods do not fit each other.",
  );
}

/** Rows of several calls as one tensor, the first `count` of them. */
function joined(parts: readonly Tensor[], count: number): Tensor {
  const [first] = parts as [Tensor];
  if (parts.length === 1 && first.shape[1] === count) return first;
  const rest = first.shape.slice(2);
  const Data = first.data.constructor as new (length: number) => Float32Array;
  const data = new Data(rest.reduce((product, size) => product * size, count));
  let at = 0;
  for (const part of parts) {
    const fitting = (part.data as Float32Array).subarray(0, data.length - at);
    data.set(fitting, at);
    at += fitting.length;
  }
  return { dtype: first.dtype, shape: [1, count, ...rest], data } as Tensor;
}

/** The facts about a cache that a context needs. */
export interface ContextFacts {
  /** The most tokens. */
  readonly length: number;
  /** The most tokens of a call. */
  readonly chunk: number;
  /** True if a worker runs the program, so that calls can be cancelled. */
  readonly isRemote: boolean;
  /** False if the state cannot go back to an earlier position. */
  readonly canRewind: boolean;
  /** True if the caller alone says how long the cache is. */
  readonly isUnchecked?: boolean;
}

/** A row of a picture or of sound. */
interface PlacedRow {
  readonly tensor: Tensor;
  readonly row: number;
}

/** The context that wrote the cache of a program last. */
const writers = new WeakMap<LanguageProgram, Context>();

/** The tokens of a program's cache, and the calls that add to them. */
export class Context {
  /** The tokens in the cache, each at its position. */
  private tokens: number[] = [];
  /** True if the cache may hold something else than these tokens. */
  private isStale = true;
  /** The output of an encoder, which the decoder looks at. It goes with the tokens. */
  states: Tensor | undefined;
  /** Rows that take the places of those of the table, by the ids that stand for them. */
  private readonly placed = new Map<number, PlacedRow>();
  private paused = performance.now();
  private readonly scores: Scores;
  private isLongEnough: boolean;

  constructor(
    private readonly program: LanguageProgram,
    private readonly layout: Layout,
    private readonly facts: ContextFacts,
  ) {
    this.scores = new Scores(layout.prefill.vocabulary);
    this.isLongEnough = !(facts.isUnchecked && facts.canRewind && layout.prefill.isCached);
  }

  /** The most tokens. */
  get length(): number {
    return this.facts.length;
  }

  /** The number of tokens in the cache. */
  get used(): number {
    return this.tokens.length;
  }

  /** Empties the cache. */
  async reset(): Promise<void> {
    this.tokens = [];
    this.isStale = false;
    this.states = undefined;
    writers.set(this.program, this);
    await this.program.reset();
  }

  /** Throws if another model wrote the cache in the middle of a text. */
  private checkWriter(): void {
    if (this.tokens.length === 0 || !this.layout.prefill.isCached) return;
    if (writers.get(this.program) === this) return;
    this.isStale = true;
    throw new SconceError(
      "state",
      "another language model has used the program, and with it the cache",
      "Load the file once for each language model, or read one answer to its end before the next.",
    );
  }

  /** Throws if the cache has no last position: the caller's length was wrong. It is tried once. */
  async checkLength(signal: HostAbortSignal | undefined): Promise<void> {
    const step = this.layout.decode ?? this.layout.prefill;
    if (this.isLongEnough || !takesOne(step)) return;
    await this.reset();
    try {
      await this.call(step, [0], signal, this.length - 1);
    } catch (error) {
      if (!(error instanceof SconceError) || error.code !== "index") throw error;
      const { message } = error;
      throw withCause(
        new SconceError(
          "option",
          `'contextLength' is ${this.length}, and the cache of the program is shorter: ${message}`,
          "Pass the length of the cache that the model was exported with.",
        ),
        error,
      );
    } finally {
      this.tokens = [];
      this.isStale = true;
    }
    this.isLongEnough = true;
  }

  /**
   * Makes the cache end where the prompt goes on with other tokens. Gives the number of tokens of the
   * prompt that it has, which is never all: the scores of the last one are needed.
   */
  async keep(prompt: readonly number[]): Promise<number> {
    const { tokens } = this;
    const most = Math.min(tokens.length, prompt.length - 1);
    let shared = 0;
    while (shared < most && tokens[shared] === prompt[shared]) shared++;
    const isBehind = shared < tokens.length && !this.facts.canRewind;
    const isTaken = writers.get(this.program) !== this;
    if (isTaken || this.isStale || !this.layout.prefill.isCached || shared === 0 || isBehind) {
      await this.reset();
      return 0;
    }
    tokens.length = shared;
    return shared;
  }

  /** Runs tokens behind those of the cache. Gives the scores of the last one. */
  async add(tokens: readonly number[], signal: HostAbortSignal | undefined): Promise<Float32Array> {
    if (!this.layout.prefill.isCached) return this.whole([...this.tokens, ...tokens], signal);
    let scores: Float32Array | undefined;
    for (let at = 0; at < tokens.length;) {
      const left = tokens.length - at;
      const { step, taken } = nextCall(this.layout, left, this.facts.chunk);
      scores = await this.call(step, tokens.slice(at, at + taken), signal);
      at += taken;
    }
    return scores!;
  }

  /** Runs all tokens anew, for a program without a cache. */
  private async whole(
    tokens: number[],
    signal: HostAbortSignal | undefined,
  ): Promise<Float32Array> {
    this.tokens = [];
    return this.call(this.layout.prefill, tokens, signal);
  }

  /** Runs the prompt of a model with an encoder, whose decoder begins with one token. */
  async encode(
    { method, inputs, length, isDynamic }: Encoder,
    prompt: readonly number[],
    signal: HostAbortSignal | undefined,
  ): Promise<void> {
    const size = isDynamic ? prompt.length : length;
    const ids = upTo(0, size).map((i) => prompt[i] ?? 0);
    const mask = upTo(0, size).map((i) => (i < prompt.length ? 1 : 0));
    const given = inputs.map((info, i) => integers(i === 0 ? ids : mask, info));
    const [states] = await this.run(method, given, signal);
    if (!isTensorLike(states))
      throw new SconceError("mismatch", `method '${method}' gave no tensor of states`);
    this.states = states as Tensor;
  }

  /** One call: positions, padding, and what is in the cache afterwards. */
  private async call(
    step: Step,
    tokens: readonly number[],
    signal: HostAbortSignal | undefined,
    start = this.tokens.length,
  ): Promise<Float32Array> {
    this.checkWriter();
    writers.set(this.program, this);
    const size = step.isDynamic ? tokens.length : step.length;
    if (size > tokens.length && start + size > this.length)
      throw new SconceError(
        "limit",
        `method '${step.method}' takes ${size} tokens at once, and the context has room for ${this.length - start}`,
        "Export the model with a method for one token.",
      );
    const padded = [...tokens, ...new Array<number>(size - tokens.length).fill(0)];
    const rows = this.layout.embedding && (await this.embed(this.layout.embedding, padded, signal));
    const inputs = step.inputs.map(({ role, info }): InputValue => {
      if (role === "tokens") return integers(padded, info);
      if (role === "start") return integers([start], info);
      if (role === "positions") return integers(upTo(start, size), info);
      if (role === "states") return this.states ?? null;
      return rowsOf(rows?.[role === "embeddings" ? 0 : 1], this.layout.embedding!.method, size);
    });
    const outputs = await this.run(step.method, inputs, signal);
    const scores = this.scores.at(outputs[step.scores], step.method, tokens.length - 1);
    this.tokens.push(...tokens);
    this.isStale = false;
    return scores;
  }

  /** The rows of tokens, by the method that has the table. */
  private async embed(
    { method, input, length, isDynamic }: Embedding,
    tokens: readonly number[],
    signal: HostAbortSignal | undefined,
  ): Promise<Value[]> {
    const parts: Value[][] = [];
    for (let at = 0; at < tokens.length; at += length) {
      const count = isDynamic ? Math.min(length, tokens.length - at) : length;
      const ids = upTo(at, count).map((i) => Math.max(0, tokens[i] ?? 0));
      const outputs = await this.run(method, [integers(ids, input)], signal);
      parts.push(outputs.map((output) => rowsOf(output, method, count)));
    }
    const outputs = parts[0]!.map((_, i) =>
      joined(
        parts.map((part) => part[i] as Tensor),
        tokens.length,
      ),
    );
    if (outputs[0]) this.fill(outputs[0], tokens);
    return outputs;
  }

  /** Forgets the rows of an earlier prompt, so that their memory is free. */
  clearPlaced(): void {
    this.placed.clear();
  }

  /** Makes the rows of a picture or of sound known by their ids. */
  place({ tensor, ids }: MediaRows): void {
    if (!this.layout.embedding)
      throw new SconceError(
        "unsupported",
        "the program takes tokens, and no embeddings, so that pictures and sound have no place",
        "Export the model with the methods token_embedding and text_decoder.",
      );
    ids.forEach((id, row) => this.placed.set(id, { tensor, row }));
  }

  /** Writes rows of pictures and of sound in the places of their ids. */
  private fill(embeddings: Tensor, tokens: readonly number[]): void {
    const width = embeddings.shape.at(-1)!;
    tokens.forEach((token, at) => {
      const found = token < 0 ? this.placed.get(token) : undefined;
      if (!found) return;
      const { tensor, row } = found;
      if (tensor.shape.at(-1) !== width)
        throw new SconceError(
          "mismatch",
          `rows of the encoder have ${tensor.shape.at(-1)} numbers, and those of tokens ${width}`,
          "Export the model again: its methods do not fit each other.",
        );
      const [from, to] = [row * width, at * width];
      const target = embeddings.data as Float32Array;
      if (tensor.dtype === embeddings.dtype)
        target.set((tensor.data as Float32Array).subarray(from, from + width), to);
      else {
        const one = { ...tensor, shape: [width], data: tensor.data.slice(from, from + width) };
        const numbers = Float64Array.from(roundedNumbers(one as Tensor));
        write(target.subarray(to, to + width) as TensorData, embeddings.dtype, numbers);
      }
    });
  }

  /** Runs a method that does not touch the cache. */
  other(
    program: LanguageProgram,
    method: string,
    inputs: readonly InputValue[],
    signal: HostAbortSignal | undefined,
  ): Promise<Value[]> {
    return this.run(method, inputs, signal, program);
  }

  /** Runs a method. */
  private async run(
    method: string,
    inputs: readonly InputValue[],
    signal: HostAbortSignal | undefined,
    program = this.program,
  ): Promise<Value[]> {
    if (!this.facts.isRemote && performance.now() - this.paused > PAUSE_MS) {
      await pause();
      this.paused = performance.now();
    }
    if (signal?.aborted) throw cancelled(signal);
    // A call that is cancelled or fails leaves values in the cache. They are written again, if they can be.
    const wasStale = this.isStale;
    this.isStale ||= !this.facts.canRewind;
    // A signal cannot fire while an engine blocks its thread, and watching it costs time.
    const isWatched = signal !== undefined && this.facts.isRemote;
    const outputs = await program.run(method, inputs, isWatched ? { signal } : {});
    this.isStale = wasStale;
    return outputs;
  }
}
