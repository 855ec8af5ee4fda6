// How the methods of a program are called as a language model: which input takes what, how many tokens
// fit into a call, and where the scores are. It follows from the shapes that the methods declare.
import { SconceError } from "../base/errors.js";
import type { DType, ProgramMethodInfo, ProgramValueInfo } from "../types/index.js";

/** The kinds of inputs that a step takes. */
export type InputRole =
  /** Token ids, [1, S] or [S]. */
  | "tokens"
  /** Rows of an embedding table, [1, S, E]. */
  | "embeddings"
  /** A further output of the embedding method, row by row. */
  | "rows"
  /** The position of the first token, [1], a tensor without dimensions, or a number. */
  | "start"
  /** The position of each token, [S] or [1, S]. */
  | "positions"
  /** The output of an encoder. */
  | "states";

/** One input of a step. */
export interface StepInput {
  readonly role: InputRole;
  readonly info: ProgramValueInfo;
}

/** A method that takes tokens and gives scores. */
export interface Step {
  readonly method: string;
  readonly inputs: readonly StepInput[];
  /** The most tokens of a call. */
  readonly length: number;
  /** True if a call may have fewer tokens. */
  readonly isDynamic: boolean;
  /** True if the method takes positions of its tokens, and so keeps a cache. */
  readonly isCached: boolean;
  /** True if there are scores for every token, rather than for the last one. */
  readonly hasAllScores: boolean;
  /** The index of the scores among the outputs. */
  readonly scores: number;
  /** The number of scores. */
  readonly vocabulary: number;
}

/** A method that turns tokens into rows. */
export interface Embedding {
  readonly method: string;
  readonly input: ProgramValueInfo;
  readonly length: number;
  readonly isDynamic: boolean;
}

/** A method that turns a prompt into states for a decoder. */
export interface Encoder {
  readonly method: string;
  readonly inputs: readonly ProgramValueInfo[];
  readonly length: number;
  readonly isDynamic: boolean;
}

/** The methods of a language model. */
export interface Layout {
  /** Takes prompts. */
  readonly prefill: Step;
  /** Takes one token at a time, where that is another method. */
  readonly decode: Step | undefined;
  readonly embedding: Embedding | undefined;
  readonly encoder: Encoder | undefined;
}

const EXPECTED =
  "Export it with tokens [1, S], and with a start position [1] or positions [S]. docs/language-models.md lists all forms.";

const unfit = (message: string): SconceError => new SconceError("unsupported", message, EXPECTED);

const INTEGERS: readonly (DType | undefined)[] = ["int64", "int32"];
const FLOATS: readonly (DType | undefined)[] = ["float32", "float16", "bfloat16", "float64"];

export const isInteger = ({ kind, dtype }: ProgramValueInfo): boolean =>
  kind === "tensor" && INTEGERS.includes(dtype);
/** True for the dtypes of rows and scores. */
export const isFloatType = (dtype: DType | undefined): boolean => FLOATS.includes(dtype);
export const isFloat = ({ kind, dtype }: ProgramValueInfo): boolean =>
  kind === "tensor" && isFloatType(dtype);

const shown = ({ name, kind, dtype, shape = [] }: ProgramValueInfo): string =>
  `'${name.slice(0, 60)}' (${kind === "tensor" ? `${dtype} [${shape.join(", ")}]` : kind})`;

/** The number of tokens that a tensor of ids or rows holds; its batch must be one. */
function lengthOf(method: string, info: ProgramValueInfo, rank: number): number {
  const shape = info.shape ?? [];
  const [batch = 1, length = 0] = shape.length === 1 && rank === 2 ? [1, ...shape] : shape;
  if (batch !== 1 || !Number.isSafeInteger(length) || length < 1)
    throw unfit(`input ${shown(info)} of method '${method}' is not for one sequence of tokens`);
  return length;
}

/** The role of an input that follows the tokens or the embeddings. */
function roleOf(
  info: ProgramValueInfo,
  first: StepInput,
  length: number,
): Exclude<InputRole, "tokens" | "embeddings"> | undefined {
  const shape = info.shape ?? [];
  if (info.kind === "int") return "start";
  if (isInteger(info)) {
    if (shape.length === 0 || (shape.length === 1 && shape[0] === 1)) return "start";
    const isRow = shape.length === 1 && shape[0] === length;
    const isNamedRow = shape.length === 2 && shape[1] === length && /pos/i.test(info.name);
    return isRow || (isNamedRow && shape[0] === 1) ? "positions" : undefined;
  }
  if (!isFloat(info)) return undefined;
  if (first.role === "embeddings" && shape.length >= 3 && shape[1] === length) return "rows";
  return shape.length === 3 ? "states" : undefined;
}

function inputsOf(info: ProgramMethodInfo): { inputs: StepInput[]; length: number } {
  const { name, inputs } = info;
  const [given] = inputs;
  const rank = given?.shape?.length ?? 0;
  const isTokens = given !== undefined && isInteger(given) && (rank === 1 || rank === 2);
  if (!given || !(isTokens || (isFloat(given) && rank === 3)))
    throw unfit(
      `method '${name}' does not take tokens first${given ? `, but ${shown(given)}` : ""}`,
    );
  const length = lengthOf(name, given, isTokens ? 2 : 3);
  const first: StepInput = { role: isTokens ? "tokens" : "embeddings", info: given };
  const all = [first];
  for (const other of inputs.slice(1)) {
    const role = roleOf(other, first, length);
    if (role === undefined || all.some((one) => one.role === role))
      throw unfit(`nobody can tell what input ${shown(other)} of method '${name}' is for`);
    all.push({ role, info: other });
  }
  if (all.some(({ role }) => role === "start") && all.some(({ role }) => role === "positions"))
    throw unfit(`method '${name}' takes a start position and positions`);
  return { inputs: all, length };
}

/** The index of the scores: the only output that is new, or the one of that name. */
function scoresOf({ name, outputs }: ProgramMethodInfo): number {
  const found = outputs.flatMap((info, i) =>
    isFloat(info) && info.ofInput === undefined ? [{ info, i }] : [],
  );
  const named = found.filter(({ info }) => info.name === "logits");
  const [only, ...others] = named.length > 0 ? named : found;
  if (only && others.length === 0) return only.i;
  throw unfit(`method '${name}' has ${found.length} outputs that could be scores, not one`);
}

/** Reads a method as a step. */
export function stepOf(info: ProgramMethodInfo): Step {
  const { inputs, length } = inputsOf(info);
  const scores = scoresOf(info);
  const shape = info.outputs[scores]!.shape ?? [];
  const vocabulary = shape.at(-1) ?? 0;
  const rows = shape.slice(0, -1).reduce((product, size) => product * size, 1);
  if (shape.length < 1 || vocabulary < 1 || (rows !== 1 && rows !== length))
    throw unfit(
      `output ${shown(info.outputs[scores]!)} of method '${info.name}' is not scores of the last token or of all ${length}`,
    );
  const isCached = inputs.some(({ role }) => role === "start" || role === "positions");
  const isDynamic = inputs[0]!.info.dynamic === true;
  return {
    method: info.name,
    inputs,
    length,
    isDynamic,
    isCached,
    hasAllScores: rows === length,
    scores,
    vocabulary,
  };
}

function embeddingOf(info: ProgramMethodInfo): Embedding {
  const [input, ...others] = info.inputs;
  if (!input || others.length > 0 || !isInteger(input))
    throw unfit(`method '${info.name}' does not take tokens alone`);
  const length = lengthOf(info.name, input, 2);
  return { method: info.name, input, length, isDynamic: input.dynamic === true };
}

function encoderOf(info: ProgramMethodInfo): Encoder {
  const [input] = info.inputs;
  if (!input || !info.inputs.every(isInteger))
    throw new SconceError(
      "unsupported",
      `method '${info.name}' takes ${input ? shown(input) : "no input"}, and not tokens`,
      "Open a program that hears speech with openSpeechModel().",
    );
  const length = lengthOf(info.name, input, 2);
  return { method: info.name, inputs: info.inputs, length, isDynamic: input.dynamic === true };
}

/** The names of decoders that come with an embedding or an encoder. */
const TEXT_DECODER = "text_decoder";

/** Reads the methods of a program as those of a language model. */
export function layoutOf(methods: readonly ProgramMethodInfo[]): Layout {
  const named = (...names: string[]): ProgramMethodInfo | undefined => {
    const found = names.find((name) => methods.some((method) => method.name === name));
    return methods.find(({ name }) => name === found);
  };
  const decoder = named(TEXT_DECODER);
  const embedding = decoder && named("token_embedding");
  const encoder = decoder && !embedding ? named("encoder") : undefined;
  const main = decoder ?? named("forward", "prefill", "decode");
  if (!main) {
    const names = methods.slice(0, 8).map(({ name }) => name.slice(0, 60));
    throw unfit(
      `the program has no method forward, prefill, decode or text_decoder, but ${names.join(", ") || "none"}`,
    );
  }
  const prefill = stepOf(main);
  const isPair = main.name === "prefill" || main.name === "forward";
  const other = isPair ? named("decode") : undefined;
  const layout: Layout = {
    prefill,
    decode: other && stepOf(other),
    embedding: embedding && embeddingOf(embedding),
    encoder: encoder && encoderOf(encoder),
  };
  checkLayout(layout);
  return layout;
}

/** True if a call may have a single token. */
export const takesOne = ({ length, isDynamic }: Step): boolean => length === 1 || isDynamic;

function checkLayout({ prefill, decode, embedding, encoder }: Layout): void {
  const steps = decode ? [prefill, decode] : [prefill];
  for (const step of steps) {
    const has = (role: InputRole): boolean => step.inputs.some((input) => input.role === role);
    if (has("embeddings") && !embedding)
      throw unfit(
        `method '${step.method}' takes embeddings, and the program has no token_embedding`,
      );
    if (has("states") && !encoder)
      throw unfit(`method '${step.method}' takes states, and the program has no encoder`);
    if (step.vocabulary !== prefill.vocabulary || step.isCached !== prefill.isCached)
      throw unfit(`methods '${prefill.method}' and '${step.method}' are not of one model`);
  }
  // A call of too many tokens is padded, and then the scores of the last real one are needed.
  const last = decode ?? prefill;
  if (!takesOne(last) && !last.hasAllScores)
    throw unfit(
      `method '${last.method}' takes exactly ${last.length} tokens and gives scores of the last alone`,
    );
  if (!prefill.isCached && prefill.length === 1)
    throw unfit(
      `method '${prefill.method}' takes one token, and neither its position nor the tokens before`,
    );
}

/** The step for that many tokens, and how many of them it takes. */
export function nextCall(
  { prefill, decode }: Layout,
  count: number,
  most: number,
): { step: Step; taken: number } {
  const isOne = count === 1 && decode !== undefined;
  const isWhole = count >= prefill.length && prefill.length <= most;
  const step = isOne || (decode && !prefill.isDynamic && !isWhole) ? decode! : prefill;
  const limit = step.isDynamic ? Math.min(step.length, most) : step.length;
  return { step, taken: Math.min(count, limit) };
}
