// Opening a language model: the methods of a program, a tokenizer and a template become one object.
import { checkTable } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import type { ProgramMethodInfo } from "../types/index.js";
import { tokenTexts, type TokenTexts } from "./constraint.js";
import { Context } from "./context.js";
import { Talk, type ChatOptions } from "./conversation.js";
import { embed, embeddingMethod, type EmbeddingMethod } from "./embed.js";
import { contentsOf, jsonOf } from "./files.js";
import { inGeneration, RunningGeneration, type Generator } from "./generate.js";
import { layoutOf, type Layout } from "./layout.js";
import { Metadata } from "./metadata.js";
import { checkGenerate, checkProgram, OPEN_OPTIONS } from "./options.js";
import { Media } from "./media.js";
import { Prompts } from "./prompt.js";
import { chatTemplateOf } from "./template.js";
import { tokenizerOf } from "./tokenizer.js";
import type {
  ChatMessage,
  Conversation,
  GenerateOptions,
  Generation,
  GenerationSummary,
  LanguageModel,
  LanguageModelOptions,
  LanguageModelWarning,
  LanguageProgram,
  Prompt,
  TextTokenizer,
} from "./types.js";

/** Operators whose state a call replaces, so that it cannot go back to an earlier position. */
const FORGETFUL = /gated_delta_rule|update_cache_with_indices/;

const isPromise = (value: unknown): boolean =>
  typeof (value as { then?: unknown } | null)?.then === "function";

/** The facts of a program that it tells, or that its shapes do. */
interface Facts {
  readonly length: number;
  readonly chunk: number;
  readonly eosIds: readonly number[];
  readonly bosId: number | undefined;
  readonly start: number | undefined;
  readonly isSliding: boolean;
  /** True if the caller alone says how long the cache is. */
  readonly isUnchecked: boolean;
  /** True if the length is the largest call's, and the cache may be longer. */
  readonly isGuessed: boolean;
}

function contextLength(
  { prefill, decode }: Layout,
  declared: number | undefined,
  given: number | undefined,
): number {
  // Without a cache, every call has the whole text.
  const most = prefill.isCached ? declared : Math.min(prefill.length, declared ?? Infinity);
  if (given !== undefined && most !== undefined && given > most)
    throw new SconceError(
      "option",
      `'contextLength' is ${given}, and the program has room for ${most} tokens`,
      "Pass a smaller number, or leave it out.",
    );
  const shape = Math.max(prefill.length, decode?.length ?? 1);
  const found = given ?? most ?? (shape > 1 ? shape : undefined);
  if (found !== undefined) return found;
  throw new SconceError(
    "option",
    "the program does not tell how many tokens its cache holds",
    "Pass contextLength, or lower the program with the constant method get_max_context_len.",
  );
}

/** Scores of one call: more take memory and time, and only those of the last token are used. */
const SCORES_MAX = 2 ** 23;
const CHUNK_MIN = 16;

/** The most tokens of a call of a program that gives the scores of all of them. */
function scoredTokens({ prefill }: Layout): number {
  if (!prefill.hasAllScores) return Infinity;
  return Math.max(CHUNK_MIN, Math.floor(SCORES_MAX / prefill.vocabulary));
}

function factsOf(
  layout: Layout,
  metadata: Metadata,
  given: LanguageModelOptions,
  tokenizer: TextTokenizer,
): Facts {
  const seqLen = metadata.length("get_max_seq_len");
  const declared = metadata.length("get_max_context_len") ?? seqLen;
  const window = metadata.length("sliding_window");
  const length = contextLength(layout, declared, given.contextLength);
  const isGuessed = layout.decode !== undefined && (declared ?? given.contextLength) === undefined;
  const eosIds = new Set([
    ...metadata.ids("get_eos_ids", "get_eos_id"),
    ...(tokenizer.eosIds ?? []),
  ]);
  return {
    length,
    chunk: Math.min(seqLen ?? Infinity, window ?? Infinity, scoredTokens(layout), length),
    eosIds: given.eosIds ?? [...eosIds],
    bosId: metadata.id("get_bos_id") ?? tokenizer.bosId,
    start: metadata.id("decoder_start_token_id"),
    isSliding: window !== undefined,
    isUnchecked: declared === undefined && given.contextLength !== undefined,
    isGuessed,
  };
}

function warningsOf(
  facts: Facts,
  tokenizer: TextTokenizer,
  vocabulary: number,
): LanguageModelWarning[] {
  const warnings: LanguageModelWarning[] = [];
  if (facts.eosIds.length === 0)
    warnings.push({
      code: "eos_missing",
      message:
        "neither the program nor the tokenizer tells which token ends a text, so answers end at their largest length",
    });
  if (facts.isGuessed)
    warnings.push({
      code: "context_length",
      message: `the program does not tell how many tokens its cache holds, so it is used for the ${facts.length} of its longest call: pass contextLength, or lower the program with the constant method get_max_context_len`,
    });
  const size = tokenizer.vocabularySize ?? 0;
  if (size > vocabulary)
    warnings.push({
      code: "vocabulary",
      message: `the tokenizer has ${size} tokens, and the program gives scores for ${vocabulary}: it may be the tokenizer of another model`,
    });
  return warnings;
}

/** A language model over a loaded program. */
class ProgramModel implements LanguageModel {
  constructor(
    private readonly program: LanguageProgram,
    private readonly generator: Generator | undefined,
    private readonly embedding: EmbeddingMethod | undefined,
    readonly tokenizer: TextTokenizer,
    readonly eosIds: readonly number[],
    private readonly prompts: Prompts,
    readonly warnings: readonly LanguageModelWarning[],
  ) {}

  private get writer(): Generator {
    if (this.generator) return this.generator;
    throw new SconceError(
      "unsupported",
      "the program gives embeddings, and no scores of tokens",
      "Call embed().",
    );
  }

  get contextLength(): number {
    return this.generator?.context.length ?? this.embedding!.length;
  }

  get used(): number {
    return this.generator?.context.used ?? 0;
  }

  get vocabularySize(): number {
    return this.generator?.vocabulary ?? 0;
  }

  /** Gives the tokens of a prompt, when a generation asks for them. */
  private prompted(read: () => Prompt, options: GenerateOptions): () => Promise<readonly number[]> {
    const { context, encoder } = this.writer;
    const { signal, templateVariables } = options;
    return () => {
      const prompt = read();
      this.prompts.checkLength(prompt, encoder?.method.length ?? context.length);
      const items = this.prompts.read(prompt, templateVariables);
      return this.prompts.encoded(items, context, (method, inputs) =>
        context.other(this.program, method, inputs, signal),
      );
    };
  }

  generate(prompt: Prompt, options: GenerateOptions = {}): Generation {
    checkGenerate("generate()", options);
    const prompts = this.prompted(() => prompt, options);
    return new RunningGeneration(this.writer, prompts, options);
  }

  /** Begins an answer to messages, for a conversation. */
  answer(
    messages: () => readonly ChatMessage[],
    options: GenerateOptions,
    ended: (summary: GenerationSummary) => void,
  ): Generation {
    const prompts = this.prompted(messages, options);
    return new RunningGeneration(this.writer, prompts, options, ended);
  }

  chat(options: ChatOptions = {}): Conversation {
    void this.prompts.chatTemplate;
    return new Talk(this, options);
  }

  async embed(text: string, options: { signal?: AbortSignal } = {}): Promise<Float32Array> {
    checkTable("embed()", options, { signal: "signal" });
    if (!this.embedding)
      throw new SconceError(
        "unsupported",
        "the program gives scores of tokens, and no embeddings",
        "Export a sentence encoder, or add a method 'embed'.",
      );
    this.prompts.checkLength(`${text}`, this.embedding.length);
    const ids = this.prompts.read(`${text}`).map(Number);
    return embed(this.program, this.embedding, ids, options.signal);
  }

  tokenCount(prompt: Prompt): number {
    return this.prompts.count(prompt);
  }

  async reset(): Promise<void> {
    const { generator } = this;
    if (generator?.current) throw inGeneration();
    await generator?.context.reset();
  }
}

/** The id of a token that stands for a picture or for sound. */
function tokenId(
  tokenizer: TextTokenizer,
  option: string,
  given: string | number | undefined,
): number | undefined {
  if (typeof given !== "string") return given;
  const id = tokenizer.tokenId?.(given);
  if (id !== undefined) return id;
  throw new SconceError(
    "option",
    `the tokenizer has no token '${given.slice(0, 40)}', which '${option}' names`,
    "Pass the id of the token.",
  );
}

/** Throws unless a decoder with an encoder tells its first token. */
function startOf({ encoder }: Layout, start: number | undefined): Generator["encoder"] {
  if (!encoder) return undefined;
  if (start !== undefined) return { method: encoder, start };
  throw new SconceError(
    "unsupported",
    "the program has an encoder, and no constant method decoder_start_token_id",
    "Lower the program again with constantMethods: { decoder_start_token_id }.",
  );
}

/**
 * Opens a loaded program as a language model. It takes the programs of ExecuTorch's exporters and
 * those of `torch.export` with tokens and positions as inputs.
 * @throws SconceError with the code "unsupported" if the methods have another form, and with
 * "not_found" if a package is needed that is not installed.
 * @example
 * const lm = await openLanguageModel({ program, tokenizer, tokenizerConfig });
 * for await (const { text } of lm.generate("Once upon a time")) console.log(text);
 */
export async function openLanguageModel(options: LanguageModelOptions): Promise<LanguageModel> {
  checkTable("openLanguageModel()", options, OPEN_OPTIONS);
  const { program, templateVariables = {}, canRewind } = options;
  checkProgram("'program' of openLanguageModel()", program);
  const what = "'tokenizerConfig' of openLanguageModel()";
  const config = jsonOf(await contentsOf(options.tokenizerConfig ?? {}, what), what);
  const tokenizer = await tokenizerOf(options.tokenizer, config);
  const template = await chatTemplateOf(options.chatTemplate, config);
  const report = program.inspect();
  const { methods } = await report;
  const metadata = await Metadata.read(program, methods);
  const media = Media.of(methods, metadata, {
    image: tokenId(tokenizer, "imageToken", options.imageToken),
    audio: tokenId(tokenizer, "audioToken", options.audioToken),
    ...(options.imageOptions && { options: options.imageOptions }),
  });
  const embedding = embeddingMethod(methods, tokenizer.vocabularySize);
  const model = (
    generator: Generator | undefined,
    eosIds: readonly number[],
    bosId: number | undefined,
    warnings: readonly LanguageModelWarning[],
  ): LanguageModel =>
    new ProgramModel(
      program,
      generator,
      embedding,
      tokenizer,
      eosIds,
      new Prompts(tokenizer, bosId, template, templateVariables, media),
      [...metadata.warnings, ...warnings],
    );
  if (embedding?.method === "forward") return model(undefined, [], tokenizer.bosId, []);
  const layout = layoutOf(methods);
  const facts = factsOf(layout, metadata, options, tokenizer);
  const { vocabulary } = layout.prefill;
  const context = new Context(program, layout, {
    length: facts.length,
    chunk: facts.chunk,
    isRemote: isPromise(report),
    isUnchecked: facts.isUnchecked,
    canRewind: canRewind ?? !(facts.isSliding || methods.some(isForgetful)),
  });
  let texts: TokenTexts | undefined;
  const generator = {
    context,
    texts: () => (texts ??= tokenTexts(tokenizer, vocabulary)),
    tokenizer,
    eosIds: new Set(facts.eosIds),
    vocabulary,
    encoder: startOf(layout, facts.start),
    current: undefined,
  };
  return model(generator, facts.eosIds, facts.bosId, warningsOf(facts, tokenizer, vocabulary));
}

const isForgetful = ({ ops }: ProgramMethodInfo): boolean =>
  Object.keys(ops).some((op) => FORGETFUL.test(op));
