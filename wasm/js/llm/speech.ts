// Speech to text with programs of Whisper: windows of 30 seconds are encoded, and a decoder writes text
// with times, from which the next window follows.
import { checkTable, type Kind } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { isTensorLike } from "../tensor/bytes.js";
import { write, zerosOf } from "../tensor/dtypes.js";
import type { InputValue, ProgramMethodInfo, ProgramValueInfo, Tensor } from "../types/index.js";
import { Context } from "./context.js";
import { ATTEMPT_OPTIONS, Attempts, compressionRatio, type Judged } from "./fallback.js";
import { contentsOf, jsonOf } from "./files.js";
import { isFloat, stepOf, type Layout } from "./layout.js";
import { melFeatures, FRAMES, WINDOW_SAMPLES } from "./mel.js";
import { Metadata } from "./metadata.js";
import { checkProgram } from "./options.js";
import type { Sampler } from "./sampler.js";
import { SAMPLE_RATE, samplesOf } from "./sound.js";
import { tokenizerOf } from "./tokenizer.js";
import {
  languageToken,
  logSum,
  ruleOut,
  TIME_STEP,
  whisperTokens,
  type WhisperTokens,
} from "./whisper_tokens.js";
import type {
  SpeechModel,
  SpeechModelOptions,
  SpeechSegment,
  TranscribeOptions,
  Transcript,
  Transcription,
} from "./speech_types.js";
import type { LanguageProgram, Sound, TextTokenizer } from "./types.js";

/** The length of Whisper's decoder, for programs that do not tell theirs. */
const CONTEXT = 448;
/** Tokens of a window: half of the context, as in Whisper. */
const WINDOW_TOKENS = 224;

const TASK: Kind = {
  accepts: '"transcribe" or "translate"',
  test: (value) => value === "transcribe" || value === "translate",
};
const OPEN_OPTIONS = {
  program: "any",
  tokenizer: "any",
  tokenizerConfig: "any",
  features: "any",
} as const;
const OPTIONS = {
  language: "text",
  task: TASK,
  timestamps: "flag",
  ...ATTEMPT_OPTIONS,
  signal: "signal",
} as const;

/** The method that hears, and what it takes. */
interface Ear {
  readonly method: string;
  readonly input: ProgramValueInfo;
  /** The number of mel bands, or 0 if it takes samples. */
  readonly bands: number;
}

const EXPECTED =
  "Export an encoder with features [1, 80 or 128, 3000] or samples, and a decoder with tokens, states and positions.";

function earOf({ name, inputs }: ProgramMethodInfo): Ear {
  const [input, ...others] = inputs;
  const shape = input?.shape ?? [];
  const isFeatures = shape.length === 3 && shape[0] === 1 && shape[2] === FRAMES;
  const isSamples = shape.length === 1 || (shape.length === 2 && shape[0] === 1);
  if (!input || others.length > 0 || !isFloat(input) || !(isFeatures || isSamples))
    throw new SconceError(
      "unsupported",
      `method '${name}' takes neither the features nor the samples of 30 seconds of sound`,
      EXPECTED,
    );
  return { method: name, input, bands: isFeatures ? shape[1]! : 0 };
}

/** The parts of a speech model. */
interface Parts {
  readonly program: LanguageProgram;
  readonly features: LanguageProgram | undefined;
  readonly ear: Ear;
  readonly context: Context;
  readonly tokenizer: TextTokenizer;
  readonly special: WhisperTokens;
  isBusy: boolean;
}

/** The tokens of a window, and what is known of them. */
interface Heard extends Judged {
  readonly tokens: readonly number[];
  readonly temperature: number;
}

class Hearing implements Transcription {
  private isRead = false;
  language: string | undefined;
  position = 0;
  private readonly attempts: Attempts;

  constructor(
    private readonly parts: Parts,
    private readonly samples: Float32Array,
    private readonly options: TranscribeOptions,
  ) {
    this.language = options.language;
    this.attempts = new Attempts(options);
  }

  async result(): Promise<Transcript> {
    const segments: SpeechSegment[] = [];
    for await (const segment of this) segments.push(segment);
    const text = segments.map((segment) => segment.text).join("");
    return { text: text.trim(), segments, language: this.language };
  }

  [Symbol.asyncIterator](): AsyncIterator<SpeechSegment> {
    if (this.isRead)
      throw new SconceError(
        "state",
        "this transcription was read before",
        "Call transcribe() again, or keep its segments.",
      );
    this.isRead = true;
    return this.segments();
  }

  private async *segments(): AsyncGenerator<SpeechSegment, undefined> {
    const { parts, samples } = this;
    if (parts.isBusy)
      throw new SconceError(
        "busy",
        "the speech model is in the middle of a transcription",
        "Read it to its end first, or stop reading it.",
      );
    parts.isBusy = true;
    try {
      for (let at = 0; at < samples.length;) {
        this.position = at / SAMPLE_RATE;
        const heard = await this.window(samples.subarray(at, at + WINDOW_SAMPLES));
        const length = Math.min(WINDOW_SAMPLES, samples.length - at) / SAMPLE_RATE;
        const { segments, seconds } = this.cut(heard, this.position, length);
        yield* segments;
        at += Math.max(1, Math.round(seconds * SAMPLE_RATE));
      }
    } finally {
      parts.isBusy = false;
    }
    return undefined;
  }

  /** The features of a window, or its samples, as the encoder takes them. */
  private async given(samples: Float32Array): Promise<InputValue> {
    const { ear, features } = this.parts;
    const { dtype = "float32", shape = [], dynamic } = ear.input;
    const tensor = (values: Float32Array, sizes: readonly number[]): Tensor => {
      const data = zerosOf(dtype, values.length);
      write(data, dtype, values);
      return { dtype, shape: sizes, data } as Tensor;
    };
    if (ear.bands > 0) {
      const values = features
        ? await featuresBy(features, samples, ear.bands * FRAMES)
        : melFeatures(samples, ear.bands);
      return tensor(values, [1, ear.bands, FRAMES]);
    }
    const most = shape.at(-1)!;
    const size = dynamic ? Math.min(WINDOW_SAMPLES, most) : most;
    const whole = new Float32Array(size);
    whole.set(samples.subarray(0, size));
    return tensor(whole, [...shape.slice(0, -1), size]);
  }

  private async window(samples: Float32Array): Promise<Heard> {
    const { program, ear, context, special } = this.parts;
    const { signal, task = "transcribe", timestamps = true } = this.options;
    const given = await this.given(samples);
    await context.reset();
    const [states] = await context.other(program, ear.method, [given], signal);
    if (!isTensorLike(states))
      throw new SconceError("mismatch", `method '${ear.method}' gave no tensor of states`);
    context.states = states as Tensor;
    const begun = await context.add([special.begin], signal);
    const { silence } = special;
    const noSpeechProbability =
      silence === undefined ? 0 : Math.exp(begun[silence]! - logSum(begun));
    const prompt = [special.begin, ...this.firstTokens(begun, task, timestamps)];
    for (const [i, { temperature, sampler }] of this.attempts.all.entries()) {
      await context.keep(prompt);
      context.states = states as Tensor;
      const text = await this.write(prompt, sampler);
      const ratio = await compressionRatio(this.textOf(text.tokens).trim());
      const heard = { ...text, noSpeechProbability, compressionRatio: ratio, temperature };
      if (i === this.attempts.all.length - 1 || !this.attempts.isPoor(heard)) return heard;
    }
    throw new Error("there is at least one attempt");
  }

  /** Writes the text of a window, from a prompt of which the cache has a part. */
  private async write(
    prompt: readonly number[],
    sampler: Sampler,
  ): Promise<Pick<Heard, "tokens" | "meanLogProbability">> {
    const { context, special } = this.parts;
    const { signal, timestamps = true } = this.options;
    const tokens: number[] = [];
    let scores = await context.add(prompt.slice(context.used), signal);
    let sum = 0;
    for (;;) {
      ruleOut(scores, tokens, special, timestamps);
      const token = sampler.choose(scores);
      sum += scores[token]! - logSum(scores);
      if (token === special.end) break;
      tokens.push(token);
      if (tokens.length >= WINDOW_TOKENS || context.used >= context.length) break;
      scores = await context.add([token], signal);
    }
    return { tokens, meanLogProbability: sum / (tokens.length + 1) };
  }

  /** The text of tokens, without their times. */
  private textOf(tokens: readonly number[]): string {
    const words = tokens.filter((token) => token < this.parts.special.firstTime);
    return words.length === 0 ? "" : this.parts.tokenizer.decode(words);
  }

  /** The tokens that follow the first one: language, task, and whether there are times. */
  private firstTokens(scores: Float32Array, task: string, timestamps: boolean): number[] {
    const { special } = this.parts;
    const { languages, transcribe, translate, withoutTimes } = special;
    const tokens: number[] = [];
    if (languages.size > 0) {
      this.language ??= [...languages].reduce((best, one) =>
        scores[one[1]]! > scores[best[1]]! ? one : best,
      )[0];
      tokens.push(languageToken(special, this.language));
      const taskToken = task === "translate" ? translate : transcribe;
      if (taskToken !== undefined) tokens.push(taskToken);
    }
    return timestamps ? tokens : [...tokens, withoutTimes];
  }

  /** Cuts the tokens of a window where two times meet. Gives the seconds that they cover. */
  private cut(
    { tokens, ...judged }: Heard,
    begin: number,
    length: number,
  ): { segments: SpeechSegment[]; seconds: number } {
    if (this.attempts.isSilent(judged)) return { segments: [], seconds: length };
    const { firstTime } = this.parts.special;
    const isTime = (token: number | undefined): boolean =>
      token !== undefined && token >= firstTime;
    const secondsOf = (token: number): number => Math.min(length, (token - firstTime) * TIME_STEP);
    const segment = (part: readonly number[], from: number, to: number): SpeechSegment[] => {
      const words = part.filter((token) => !isTime(token));
      const text = this.textOf(words);
      const times = { start: begin + from, end: begin + Math.max(from, to) };
      return text.trim() === "" ? [] : [{ ...times, text, tokens: words, ...judged }];
    };
    const ends = tokens.flatMap((token, i) => (isTime(token) && isTime(tokens[i - 1]) ? [i] : []));
    const isWholeAtEnd = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
    if (ends.length === 0) {
      const times = tokens.filter(isTime);
      const last = times.at(-1);
      const isEnd = last !== undefined && last !== firstTime && isTime(tokens.at(-1));
      const from = isTime(tokens[0]) ? secondsOf(tokens[0]!) : 0;
      return { segments: segment(tokens, from, isEnd ? secondsOf(last) : length), seconds: length };
    }
    if (isWholeAtEnd) ends.push(tokens.length);
    const segments: SpeechSegment[] = [];
    let from = 0;
    for (const end of ends) {
      const part = tokens.slice(from, end);
      segments.push(...segment(part, secondsOf(part[0]!), secondsOf(part.at(-1)!)));
      from = end;
    }
    // The rest of the window is heard again, from where its first segment begins.
    const seconds = isWholeAtEnd ? length : secondsOf(tokens[from - 1]!);
    return { segments, seconds: seconds > 0 ? seconds : length };
  }
}

/** Features by a program, which takes the samples of a window. */
async function featuresBy(
  program: LanguageProgram,
  samples: Float32Array,
  count: number,
): Promise<Float32Array> {
  const { methods } = await program.inspect();
  const info = methods.find(({ name }) => name === "forward");
  const rank = info?.inputs[0]?.shape?.length ?? 1;
  const whole = new Float32Array(WINDOW_SAMPLES);
  whole.set(samples);
  const shape = [...new Array<number>(rank - 1).fill(1), WINDOW_SAMPLES];
  const input: Tensor = { dtype: "float32", shape, data: whole };
  const [output] = await program.run("forward", [input], {});
  if (isTensorLike(output) && output.dtype === "float32" && output.data.length === count)
    return output.data;
  throw new SconceError(
    "mismatch",
    `the program of features did not give ${count} numbers of float32`,
    "Leave 'features' out, and the library computes them.",
  );
}

class ProgramSpeech implements SpeechModel {
  readonly languages: readonly string[];

  constructor(private readonly parts: Parts) {
    this.languages = [...parts.special.languages.keys()];
  }

  transcribe(sound: Float32Array | Sound, options: TranscribeOptions = {}): Transcription {
    checkTable("transcribe()", options, OPTIONS);
    const { special } = this.parts;
    if (options.language !== undefined) languageToken(special, options.language);
    if (options.task === "translate" && special.translate === undefined)
      throw new SconceError("option", "the model does not translate", "Leave 'task' out.");
    return new Hearing(this.parts, samplesOf(sound), options);
  }
}

/**
 * Opens a loaded program of Whisper. It has an encoder and a decoder, with a cache or without.
 * @throws SconceError with the code "unsupported" if the methods have another form.
 * @example
 * const speech = await openSpeechModel({ program, tokenizer });
 * const { text } = await speech.transcribe(new Float32Array(16_000)).result();
 */
export async function openSpeechModel(options: SpeechModelOptions): Promise<SpeechModel> {
  checkTable("openSpeechModel()", options, OPEN_OPTIONS);
  const { program, features } = options;
  checkProgram("'program' of openSpeechModel()", program);
  if (features) checkProgram("'features' of openSpeechModel()", features);
  const what = "'tokenizerConfig' of openSpeechModel()";
  const config = jsonOf(await contentsOf(options.tokenizerConfig ?? {}, what), what);
  const tokenizer = await tokenizerOf(options.tokenizer, config);
  const special = whisperTokens(tokenizer);
  const report = program.inspect();
  const { methods } = await report;
  const named = (...names: string[]): ProgramMethodInfo => {
    const found = methods.find(({ name }) => names.includes(name));
    if (found) return found;
    const message = `the program has no method ${names.join(" or ")}`;
    throw new SconceError("unsupported", message, EXPECTED);
  };
  const ear = earOf(named("encoder", "encode"));
  const step = stepOf(named("text_decoder", "decoder", "decode"));
  if (!step.inputs.some(({ role }) => role === "states"))
    throw new SconceError("unsupported", `method '${step.method}' takes no states`, EXPECTED);
  const greatest = Math.max(special.begin, special.end, special.withoutTimes);
  if (greatest >= step.vocabulary)
    throw new SconceError(
      "argument",
      `the tokenizer has token ${greatest}, and the program knows ${step.vocabulary} tokens`,
      "Pass the tokenizer that belongs to the program.",
    );
  const metadata = await Metadata.read(program, methods);
  const declared = metadata.length("get_max_context_len", "get_max_seq_len");
  const length = declared ?? (step.length > 1 ? step.length : CONTEXT);
  const layout: Layout = {
    prefill: step,
    decode: undefined,
    embedding: undefined,
    encoder: undefined,
  };
  const isRemote = typeof (report as Partial<PromiseLike<unknown>>).then === "function";
  const facts = { length, chunk: length, isRemote, canRewind: true };
  const context = new Context(program, layout, facts);
  return new ProgramSpeech({
    program,
    features,
    ear,
    context,
    tokenizer,
    special,
    isBusy: false,
  });
}
