// Embeddings of texts: programs of sentence encoders give one for a text, or one for each token.
import { SconceError } from "../base/errors.js";
import { isTensorLike } from "../tensor/bytes.js";
import { roundedNumbers } from "../tensor/numbers.js";
import type { HostAbortSignal } from "../types/host.js";
import type { InputValue, ProgramMethodInfo, ProgramValueInfo, Tensor } from "../types/index.js";
import { isFloat, isInteger } from "./layout.js";
import type { LanguageProgram } from "./types.js";

/** A method that gives embeddings. */
export interface EmbeddingMethod {
  readonly method: string;
  readonly inputs: readonly ProgramValueInfo[];
  readonly output: number;
  readonly length: number;
  readonly isDynamic: boolean;
}

const NAMES = ["embed", "forward"];

const isMask = ({ name }: ProgramValueInfo): boolean => /mask/i.test(name);

/** True if `forward` gives embeddings, and no scores of a vocabulary. */
function isEncoder(
  { inputs, outputs }: ProgramMethodInfo,
  vocabularySize: number | undefined,
): boolean {
  const width = outputs[0]?.shape?.at(-1) ?? 0;
  return inputs.some(isMask) || (vocabularySize !== undefined && width < vocabularySize);
}

/** The method that gives embeddings; undefined if there is none. */
export function embeddingMethod(
  methods: readonly ProgramMethodInfo[],
  vocabularySize: number | undefined,
): EmbeddingMethod | undefined {
  const found = NAMES.map((name) => methods.find((method) => method.name === name)).find(Boolean);
  if (!found) return undefined;
  const { name, inputs, outputs } = found;
  const [tokens] = inputs;
  const [batch, length = 0] = tokens?.shape ?? [];
  const isTokens =
    tokens !== undefined && inputs.every(isInteger) && tokens.shape?.length === 2 && batch === 1;
  const areAlike = inputs.every(({ shape }) => shape?.length === 2 && shape[1] === length);
  const output = outputs.findIndex((info) => isFloat(info) && info.ofInput === undefined);
  const rank = outputs[output]?.shape?.length ?? 0;
  if (!isTokens || !areAlike || length < 1 || (rank !== 2 && rank !== 3)) return undefined;
  if (name !== "embed" && !isEncoder(found, vocabularySize)) return undefined;
  return { method: name, inputs, output, length, isDynamic: tokens.dynamic === true };
}

/** Segments of sentence pairs, of which there is one. */
const isTypes = ({ name }: ProgramValueInfo): boolean => /token_type|segment/i.test(name);

/** The tokens, or ones for a mask, or zeros for segments: one row, padded with zeros. */
function rowOf(info: ProgramValueInfo, ids: readonly number[], size: number): InputValue {
  const values = ids.map((id) => (isTypes(info) ? 0 : isMask(info) ? 1 : id));
  const padded = [...values, ...new Array<number>(size - ids.length).fill(0)];
  const isWide = info.dtype !== "int32";
  const data = isWide ? BigInt64Array.from(padded, BigInt) : Int32Array.from(padded);
  return { dtype: isWide ? "int64" : "int32", shape: [1, size], data } as Tensor;
}

/** Runs the method on the tokens of a text. */
export async function embed(
  program: LanguageProgram,
  { method, inputs, output, length, isDynamic }: EmbeddingMethod,
  ids: readonly number[],
  signal: HostAbortSignal | undefined,
): Promise<Float32Array> {
  if (ids.length > length)
    throw new SconceError(
      "limit",
      `the text has ${ids.length} tokens, and method '${method}' takes ${length}`,
      "Shorten the text, or embed its parts.",
    );
  const size = isDynamic ? ids.length : length;
  if (size > ids.length && !inputs.some(isMask))
    throw new SconceError(
      "unsupported",
      `method '${method}' takes exactly ${length} tokens and no mask, and the text has ${ids.length}`,
      "Export the model with a mask, or with a dynamic length.",
    );
  const given = inputs.map((info) => rowOf(info, ids, size));
  const value = (await program.run(method, given, signal ? { signal } : {}))[output];
  if (!isTensorLike(value) || value.shape.length < 2 || value.shape[0] !== 1)
    throw new SconceError("mismatch", `method '${method}' gave no embedding of one text`);
  const width = value.shape.at(-1)!;
  const numbers = roundedNumbers(value);
  if (value.shape.length === 2) return Float32Array.from(numbers);
  const mean = new Float32Array(width);
  for (let row = 0; row < ids.length; row++)
    for (let i = 0; i < width; i++) mean[i]! += numbers[row * width + i]! / ids.length;
  return mean;
}
