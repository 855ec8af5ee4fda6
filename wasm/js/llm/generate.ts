// A generation: the prompt is run, and then token after token is chosen, made text and run.
import { cancelled, SconceError } from "../base/errors.js";
import { Constraint, type TokenTexts } from "./constraint.js";
import type { Context } from "./context.js";
import { schemaLanguage } from "./json_schema.js";
import type { Encoder } from "./layout.js";
import { samplingOf, stopsOf } from "./options.js";
import { Sampler } from "./sampler.js";
import { Detokenizer, StopTexts } from "./text.js";
import type {
  FinishReason,
  GeneratedPiece,
  GenerateOptions,
  Generation,
  GenerationSummary,
  TextTokenizer,
} from "./types.js";

/** The parts of a model that a generation needs. */
export interface Generator {
  readonly context: Context;
  readonly tokenizer: TextTokenizer;
  readonly eosIds: ReadonlySet<number>;
  readonly vocabulary: number;
  /** The encoder of the prompt, and the token with which the decoder begins. */
  readonly encoder: { readonly method: Encoder; readonly start: number } | undefined;
  /** The texts of all tokens, for answers that fit a schema. */
  texts(): TokenTexts;
  /** The generation that is being read. */
  current: object | undefined;
}

function checkPrompt(prompt: readonly number[], { vocabulary, context, encoder }: Generator): void {
  if (prompt.length === 0)
    throw new SconceError(
      "argument",
      "the prompt has no tokens",
      "Pass some text: this tokenizer has no token that begins one.",
    );
  const unknown = encoder ? undefined : prompt.find((token) => token >= vocabulary);
  if (unknown !== undefined)
    throw new SconceError(
      "argument",
      `the prompt has token ${unknown}, and the program knows ${vocabulary} tokens`,
      "Pass the tokenizer that belongs to the program.",
    );
  const { method } = encoder ?? {};
  const most = method ? method.length : context.length - 1;
  if (prompt.length <= most) return;
  throw new SconceError(
    "limit",
    `the prompt has ${prompt.length} tokens, and the context has room for ${most} and an answer`,
    "Shorten the prompt, leave out old messages, or export the model with a longer cache.",
  );
}

const perSecond = (count: number, ms: number): number =>
  count > 0 && ms > 0 ? (count * 1000) / ms : 0;

/** The error of a call in the middle of a generation. */
export function inGeneration(): SconceError {
  return new SconceError(
    "busy",
    "the language model is in the middle of a generation",
    "Read it to its end first, or stop reading it.",
  );
}

/** A generation that runs while it is read. */
export class RunningGeneration implements Generation {
  summary: GenerationSummary | undefined;
  private isRead = false;
  private written = "";

  constructor(
    private readonly generator: Generator,
    /** Gives the tokens of the prompt when the generation begins. */
    private readonly promptOf: () => Promise<readonly number[]>,
    private readonly options: GenerateOptions,
    /** Called once, with the result. */
    private readonly ended: (summary: GenerationSummary) => void = () => undefined,
  ) {}

  async text(): Promise<string> {
    for await (const _ of this);
    return this.summary!.text;
  }

  [Symbol.asyncIterator](): AsyncIterator<GeneratedPiece> {
    if (this.isRead)
      throw new SconceError(
        "state",
        "this generation was read before",
        "Call generate() again, or keep its pieces.",
      );
    this.isRead = true;
    return this.pieces();
  }

  private async *pieces(): AsyncGenerator<GeneratedPiece, undefined> {
    const { generator } = this;
    if (generator.current) throw inGeneration();
    generator.current = this;
    const timing = { begin: performance.now(), first: 0, reused: 0, prompt: 0, count: 0 };
    let reason: FinishReason = "aborted";
    try {
      reason = yield* this.run(timing);
    } finally {
      generator.current = undefined;
      this.finish(reason, timing);
    }
    return undefined;
  }

  private finish(
    finishReason: FinishReason,
    { begin, first, reused, prompt, count }: Timing,
  ): void {
    const now = performance.now();
    const prefillMs = (first || now) - begin;
    const decodeMs = first ? now - first : 0;
    this.summary = {
      finishReason,
      text: this.written,
      promptTokens: prompt,
      reusedTokens: reused,
      newTokens: count,
      prefillMs,
      decodeMs,
      prefillTokensPerSecond: perSecond(prompt - reused, prefillMs),
      decodeTokensPerSecond: perSecond(count - 1, decodeMs),
    };
    this.ended(this.summary);
  }

  private piece(text: string, tokens: readonly number[]): GeneratedPiece {
    this.written += text;
    return { text, tokens };
  }

  /** Runs the prompt. Gives the scores of the first new token. */
  private async prefill(prompt: readonly number[], timing: Timing): Promise<Float32Array> {
    const { context, encoder } = this.generator;
    const { signal } = this.options;
    if (encoder) {
      await context.reset();
      await context.encode(encoder.method, prompt, signal);
      return context.add([encoder.start], signal);
    }
    await context.checkLength(signal);
    timing.reused = await context.keep(prompt);
    return context.add(prompt.slice(timing.reused), signal);
  }

  /** Keeps the answer in the language of the schema. */
  private constraint(): Constraint | undefined {
    const { schema } = this.options;
    if (schema === undefined) return undefined;
    const { generator } = this;
    return new Constraint(schemaLanguage(schema), generator.texts(), generator.eosIds);
  }

  private async *run(timing: Timing): AsyncGenerator<GeneratedPiece, FinishReason> {
    const { generator, options } = this;
    const { context, tokenizer, eosIds } = generator;
    const { signal, maxNewTokens = Infinity } = options;
    const stopIfAborted = (): void => {
      if (signal?.aborted) throw cancelled(signal);
    };
    stopIfAborted();
    const prompt = await this.promptOf();
    timing.prompt = prompt.length;
    checkPrompt(prompt, generator);
    const sampler = new Sampler(samplingOf(options));
    if (!generator.encoder) sampler.note(prompt);
    const words = new Detokenizer(tokenizer, generator.encoder ? [] : prompt);
    const stops = new StopTexts(stopsOf(options));
    const constraint = this.constraint();
    const rest = (): string => stops.push(words.end()) + (stops.isFound ? "" : stops.end());
    let scores = await this.prefill(prompt, timing);
    for (;;) {
      const token = sampler.choose(scores, constraint);
      timing.first ||= performance.now();
      timing.count++;
      if (eosIds.has(token)) {
        const text = rest();
        if (text !== "") yield this.piece(text, []);
        return stops.isFound ? "stop" : "eos";
      }
      const text = stops.push(words.push(token));
      const isOver = constraint?.isOver === true;
      const isFull = timing.count >= maxNewTokens || context.used >= context.length;
      const isLast = isOver || isFull;
      yield this.piece(isLast && !stops.isFound ? text + rest() : text, [token]);
      if (stops.isFound) return "stop";
      if (isOver) return "eos";
      if (isLast) return timing.count >= maxNewTokens ? "length" : "context";
      stopIfAborted();
      scores = await context.add([token], signal);
    }
  }
}

interface Timing {
  readonly begin: number;
  first: number;
  reused: number;
  prompt: number;
  count: number;
}
