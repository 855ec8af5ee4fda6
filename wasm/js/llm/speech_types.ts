// The public types of models that hear speech.
import type { HostAbortSignal } from "../types/host.js";
import type { LanguageProgram, Sound, TextTokenizer, TokenizerFile } from "./types.js";

/** Options of `openSpeechModel`. */
export interface SpeechModelOptions {
  /**
   * A loaded program of Whisper: `encoder` and `text_decoder`, `encoder` and `decoder`, or `encode`
   * and `decode`.
   */
  program: LanguageProgram;
  /** The tokenizer, as `openLanguageModel` takes it. */
  tokenizer: TextTokenizer | TokenizerFile;
  /** The file tokenizer_config.json. */
  tokenizerConfig?: TokenizerFile;
  /**
   * A program that turns 30 seconds of sound into features, such as ExecuTorch's
   * WhisperAudioProcessor. By default the library computes them.
   */
  features?: LanguageProgram;
}

/** Options of `transcribe`. */
export interface TranscribeOptions {
  /** The code of the language: "en". By default the model recognises it. */
  language?: string;
  /** "transcribe", the default, or "translate" for a text in English. */
  task?: "transcribe" | "translate";
  /** True, the default, for segments with times. Without them there is one for each 30 seconds. */
  timestamps?: boolean;
  /**
   * The temperatures of the attempts at 30 seconds: 0, 0.2, 0.4, 0.6, 0.8, 1 by default. A text that
   * repeats itself or is unlikely is written again at the next one. A single number means one attempt.
   */
  temperature?: number | readonly number[];
  /** A text repeats itself if it packs better than this: 2.4 by default. Null to allow all. */
  compressionRatioThreshold?: number | null;
  /** A text is unlikely below this mean log probability: -1 by default. Null to allow all. */
  logProbabilityThreshold?: number | null;
  /**
   * An unlikely text is dropped if silence is more probable than this: 0.6 by default. Null to keep all
   * texts.
   */
  noSpeechThreshold?: number | null;
  /** The same seed gives the same text at temperatures above 0. A random one by default. */
  seed?: number | bigint;
  /** Ends the work, which then fails with the code "cancelled". */
  signal?: HostAbortSignal;
}

/** A part of what was said. */
export interface SpeechSegment {
  /** Its begin, in seconds. */
  readonly start: number;
  /** Its end, in seconds. */
  readonly end: number;
  readonly text: string;
  /** Its tokens, without those of times. */
  readonly tokens: readonly number[];
  /** The mean logarithm of the probabilities of tokens in these 30 seconds. */
  readonly meanLogProbability: number;
  /** The number of times that the text of these 30 seconds becomes shorter when it is packed. */
  readonly compressionRatio: number;
  /** The probability of silence at the begin of these 30 seconds. */
  readonly noSpeechProbability: number;
  /** The temperature of the attempt. */
  readonly temperature: number;
}

/** All that was said. */
export interface Transcript {
  readonly text: string;
  readonly segments: readonly SpeechSegment[];
  /** The language, if the model knows several. */
  readonly language: string | undefined;
}

/** A transcription, which runs while its segments are read. It can be read once. */
export interface Transcription extends AsyncIterable<SpeechSegment> {
  /** The language: the one that was given, or the one that the model has recognised so far. */
  readonly language: string | undefined;
  /** The second at which the window begins that is heard now. */
  readonly position: number;
  /** Runs to the end. Gives all of it. */
  result(): Promise<Transcript>;
}

/** A model that hears speech. */
export interface SpeechModel {
  /** The codes of the languages that it knows. Empty for a model of one language. */
  readonly languages: readonly string[];
  /**
   * Turns speech into text, in windows of 30 seconds. A Float32Array has 16,000 samples in each
   * second.
   *
   * @example
   * const { text } = await speech.transcribe(new Float32Array(16_000), { language: "en" }).result();
   */
  transcribe(sound: Float32Array | Sound, options?: TranscribeOptions): Transcription;
}
