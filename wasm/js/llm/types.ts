// The public types of language models.
import type { HostAbortSignal, HostBlob } from "../types/host.js";
import type { ProgramMethodInfo } from "../types/report.js";
import type { ImageInput, ImageOptions } from "../types/image.js";
import type { InputTensor, InputValue, Value } from "../types/tensor.js";

/** A value, or a promise of it: engines give values, and clients give promises. */
export type Eventually<T> = T | PromiseLike<T>;

/**
 * A loaded program as language models use it. Programs of engines, runtimes and clients are such
 * programs.
 */
export interface LanguageProgram {
  /** Gives the methods with their inputs and outputs. */
  inspect(): Eventually<{ readonly methods: readonly ProgramMethodInfo[] }>;
  /** Runs a method. */
  run(
    method: string,
    inputs: readonly InputValue[],
    options: { signal?: HostAbortSignal },
  ): Eventually<Value[]>;
  /** Puts the caches back to their first values. */
  reset(): Eventually<void>;
}

/** A tokenizer: text to token ids, and back. */
export interface TextTokenizer {
  /**
   * Splits a text into tokens. `addSpecialTokens` is false for text that a chat template wrote,
   * which has its special tokens already.
   */
  encode(
    text: string,
    options?: { addSpecialTokens?: boolean },
  ): ArrayLike<number> | { readonly ids: ArrayLike<number> };
  /** Joins tokens to a text, without special tokens. */
  decode(ids: number[]): string;
  /** The id of a special token by its text, such as "<|im_end|>". */
  tokenId?(text: string): number | undefined;
  /**
   * The bytes of a token whose text is a part of a character. Answers that fit a schema then have such
   * characters, too.
   */
  tokenBytes?(id: number): Uint8Array | undefined;
  /** The token that begins a text. */
  readonly bosId?: number;
  /** The tokens that end a text. */
  readonly eosIds?: readonly number[];
  /** The number of token ids, the special ones included. */
  readonly vocabularySize?: number;
  /**
   * The most characters that a token stands for. Texts that are longer than the context could hold are
   * then refused before they are split into tokens.
   */
  readonly longestToken?: number;
}

/** A file: its text, its bytes, a Blob, or the object that its JSON stands for. */
export type TokenizerFile = string | Uint8Array | ArrayBuffer | HostBlob | object;

/** Sound: numbers from -1 to 1, of one channel. */
export interface Sound {
  readonly samples: Float32Array;
  /** Samples in each second. */
  readonly sampleRate: number;
}

/** A text in a message. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** A picture in a message, for programs with a vision encoder. */
export interface ImagePart {
  readonly type: "image";
  /** A picture, or the tensor that the encoder takes. The same object is encoded once. */
  readonly image: ImageInput | InputTensor;
}

/** Sound in a message, for programs with an audio encoder. */
export interface AudioPart {
  readonly type: "audio";
  /**
   * 16,000 samples in each second, sound of another rate, or the tensor that the encoder takes. The
   * same object is encoded once.
   */
  readonly audio: Float32Array | Sound | InputTensor;
}

/** A part of a prompt or of a message. */
export type MessagePart = TextPart | ImagePart | AudioPart;

/** A message of a conversation. */
export interface ChatMessage {
  /** The speaker: "system", "user", "assistant", or another role that the template knows. */
  readonly role: string;
  /** A text, or a list of parts. */
  readonly content: string | readonly MessagePart[];
}

/** The variables of a chat template, such as `tools` or `enable_thinking`. */
export type TemplateVariables = Readonly<Record<string, unknown>>;

/** A chat template as a function: messages to the text of a prompt. */
export type ChatTemplate = (
  messages: readonly ChatMessage[],
  options: { readonly addGenerationPrompt: boolean; readonly variables: TemplateVariables },
) => string;

/** A prompt: a text, the messages of a chat, parts without a template, or token ids. */
export type Prompt = string | readonly ChatMessage[] | readonly MessagePart[] | readonly number[];

/** Options of `openLanguageModel`. */
export interface LanguageModelOptions {
  /** The loaded program: of an engine, of a runtime, or of a client. */
  program: LanguageProgram;
  /**
   * A tokenizer, the file tokenizer.json, or the tokenizer.bin of llama2.c. For tokenizer.json the
   * package `@huggingface/tokenizers` must be installed.
   */
  tokenizer: TextTokenizer | TokenizerFile;
  /** The file tokenizer_config.json: special tokens, and often the chat template. */
  tokenizerConfig?: TokenizerFile;
  /**
   * A function, or a template of Jinja, for which the package `@huggingface/jinja` must be
   * installed. By default it is the one of `tokenizerConfig`.
   */
  chatTemplate?: string | ChatTemplate;
  /** Variables for the chat template in every call. */
  templateVariables?: TemplateVariables;
  /** The tokens that end a text, instead of those of the program and of the tokenizer. */
  eosIds?: readonly number[];
  /** The length of the cache, for programs that do not tell it, or a shorter one. */
  contextLength?: number;
  /**
   * False for programs with a state that cannot go back to an earlier position, such as those of
   * recurrent layers. By default the operators of the program tell it.
   */
  canRewind?: boolean;
  /**
   * How pictures are normalized: `mean` and `std`, as preprocessor_config.json has them. By default
   * constant methods of the program tell it.
   */
  imageOptions?: Pick<ImageOptions, "mean" | "std" | "scale" | "fit" | "background">;
  /** The token that a template writes for a picture: its text or its id. */
  imageToken?: string | number;
  /** The token that a template writes for sound: its text or its id. */
  audioToken?: string | number;
}

/** Options of `generate` and `send`. */
export interface GenerateOptions {
  /** The most tokens to generate. By default, as many as the context holds. */
  maxNewTokens?: number;
  /** 0, the default, takes the most likely token. Higher values sample more freely. */
  temperature?: number;
  /** Samples from this many of the most likely tokens. */
  topK?: number;
  /** Samples from the fewest tokens whose probabilities have this sum. */
  topP?: number;
  /** Samples from the tokens with at least this share of the greatest probability. */
  minP?: number;
  /** Divides the scores of tokens that the text has already. 1, the default, has no effect. */
  repetitionPenalty?: number;
  /**
   * Starts the random numbers (xorshift64*, as in ExecuTorch's runner). The same seed gives the same
   * tokens. By default it is a random one.
   */
  seed?: number | bigint;
  /** Texts that end the answer. They are no part of it. */
  stop?: string | readonly string[];
  /**
   * The JSON schema that the answer fits. `true` stands for any JSON. Only tokens are chosen that go
   * on with such a text, and the answer ends with it.
   */
  schema?: Readonly<Record<string, unknown>> | boolean;
  /** Ends the generation. It then fails with the code "cancelled". */
  signal?: HostAbortSignal;
  /** Variables for the chat template. */
  templateVariables?: TemplateVariables;
}

/** A piece of generated text. */
export interface GeneratedPiece {
  /**
   * The text that is certain now. It may be empty: a character may need further tokens, and the
   * beginning of a stop text is held back.
   */
  readonly text: string;
  /** The tokens that were generated since the last piece. */
  readonly tokens: readonly number[];
}

/**
 * Why a generation ended: "eos" for a token that ends the text, "stop" for a stop text, "length" for
 * `maxNewTokens`, "context" for a full context, "aborted" if its signal or its reader ended it.
 */
export type FinishReason = "eos" | "stop" | "length" | "context" | "aborted";

/** The result of a generation, and its speed. */
export interface GenerationSummary {
  /** Why it ended. */
  readonly finishReason: FinishReason;
  /** All of its text. */
  readonly text: string;
  /** The tokens of the prompt. */
  readonly promptTokens: number;
  /** The tokens of the prompt that were in the cache already. */
  readonly reusedTokens: number;
  /** The generated tokens, with the one that ended the text. */
  readonly newTokens: number;
  /** The time from the start to the first token, in milliseconds. */
  readonly prefillMs: number;
  /** The time of all further tokens, in milliseconds. */
  readonly decodeMs: number;
  /** Tokens of the prompt that were run, in each second. */
  readonly prefillTokensPerSecond: number;
  /** Generated tokens after the first, in each second. 0 if there are no such tokens. */
  readonly decodeTokensPerSecond: number;
}

/**
 * A generation, which runs while its pieces are read. It can be read once. A reader that stops
 * early ends it, and then the model can be used again.
 */
export interface Generation extends AsyncIterable<GeneratedPiece> {
  /** The result. It is undefined until the generation has ended. */
  readonly summary: GenerationSummary | undefined;
  /** Runs to the end. Gives all of the text. */
  text(): Promise<string>;
}

/** A conversation, which keeps the cache of its model from turn to turn. */
export interface Conversation {
  /** The messages so far. */
  readonly messages: readonly ChatMessage[];
  /**
   * Says something as the user. The answer is generated while it is read, and then becomes a
   * message. If it is ended early, the text so far becomes the message. If there is none, the
   * user's message is taken back.
   *
   * @example
   * for await (const { text } of conversation.send("And of Italy?")) console.log(text);
   */
  send(content: string | readonly MessagePart[], options?: GenerateOptions): Generation;
  /** Forgets all messages but the system's. */
  reset(): void;
}

/** Something that may be wrong with a program or with its tokenizer. */
export interface LanguageModelWarning {
  /**
   * The kind: no end token, a tokenizer with too many tokens, a wrong constant method, or a context
   * whose length is that of the longest call.
   */
  readonly code: "eos_missing" | "vocabulary" | "metadata" | "context_length";
  /** A sentence that says what may be wrong. */
  readonly message: string;
}

/** A language model: a program with a tokenizer. */
export interface LanguageModel {
  /** The most tokens that prompt and answer may have together. */
  readonly contextLength: number;
  /** The number of tokens that the cache holds. */
  readonly used: number;
  /** The number of scores that the program gives for each token. */
  readonly vocabularySize: number;
  /** The tokens that end a text. */
  readonly eosIds: readonly number[];
  /** Possible faults of the program and of the tokenizer. */
  readonly warnings: readonly LanguageModelWarning[];
  /** The tokenizer in use. */
  readonly tokenizer: TextTokenizer;
  /**
   * Generates text after a prompt. Fails with the code "limit" if the prompt does not fit the
   * context, and with "busy" if another generation of the model is being read.
   *
   * @example
   * for await (const { text } of lm.generate("Once upon a time", { maxNewTokens: 40 }))
   *   console.log(text);
   */
  generate(prompt: Prompt, options?: GenerateOptions): Generation;
  /** Begins a conversation. It needs a chat template. */
  chat(options?: { system?: string; messages?: readonly ChatMessage[] }): Conversation;
  /**
   * Gives the embedding of a text: the program's own if it gives one for a text, and otherwise the
   * mean over the tokens. Fails with the code "unsupported" if the program computes no embeddings.
   */
  embed(text: string, options?: { signal?: HostAbortSignal }): Promise<Float32Array>;
  /** The number of tokens of a prompt. Pictures and sound count as their encoder declares. */
  tokenCount(prompt: Prompt): number;
  /** Empties the cache. */
  reset(): Promise<void>;
}
