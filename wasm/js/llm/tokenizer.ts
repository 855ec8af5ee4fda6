// Tokenizers of all forms as one, whose answers are checked: they index tables of the program.
import { badArgument, isObject } from "../base/check.js";
import { messageOf, SconceError, withCause } from "../base/errors.js";
import { contentsOf, jsonOf } from "./files.js";
import { Llama2cTokenizer } from "./llama2c.js";
import { huggingFaceTokenizer } from "./peers.js";
import { byteLevelBytes, byteOf } from "./token_bytes.js";
import type { TextTokenizer, TokenizerFile } from "./types.js";

const ID_MAX = 2 ** 31 - 1;
/** Normalizers may take spaces out of a text, and unknown words may be one token. */
const LONGEST_LEAST = 64;

const isTokenizer = (value: unknown): value is TextTokenizer =>
  isObject(value) && typeof value["encode"] === "function" && typeof value["decode"] === "function";

/** The text of a special token in tokenizer_config.json: text, or an object with it. */
function specialText(config: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = config[name];
  if (typeof value === "string") return value;
  return isObject(value) && typeof value["content"] === "string" ? value["content"] : undefined;
}

/** The special tokens of tokenizer_config.json as variables of a template: "bos_token" and others. */
export function specialTokens(config: object): Record<string, string> {
  const names = Object.keys(config).filter((name) => /^[a-z_]+_token$/.test(name));
  return Object.fromEntries(
    names.flatMap((name) => {
      const text = specialText(config as Record<string, unknown>, name);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

/** The bytes of a token whose text is a part of a character. */
function bytesOf(token: string | undefined): Uint8Array | undefined {
  if (token === undefined) return undefined;
  const byte = byteOf(token);
  return byte === undefined ? byteLevelBytes(token) : Uint8Array.of(byte);
}

async function ofJson(json: object, config: object): Promise<TextTokenizer> {
  if (!isObject((json as { model?: unknown }).model))
    throw new SconceError(
      "format",
      "the tokenizer has no field 'model', and so is no tokenizer.json of Hugging Face",
      "Pass the contents of tokenizer.json, or a tokenizer of your own: { encode, decode }.",
    );
  let made;
  try {
    made = await huggingFaceTokenizer(json, config);
  } catch (error) {
    if (error instanceof SconceError) throw error;
    throw withCause(
      new SconceError("format", `tokenizer.json cannot be read: ${messageOf(error).slice(0, 200)}`),
      error,
    );
  }
  const special = specialTokens(config);
  const idOf = (text: string | undefined): number | undefined =>
    text === undefined ? undefined : made.token_to_id(text);
  const bosId = idOf(special["bos_token"]);
  const eosId = idOf(special["eos_token"]);
  let [most, longest] = [-1, LONGEST_LEAST];
  for (const [text, id] of made.get_vocab(true)) {
    most = Math.max(most, id);
    longest = Math.max(longest, text.length);
  }
  return {
    encode: (text, { addSpecialTokens = true } = {}) =>
      text === "" ? [] : made.encode(text, { add_special_tokens: addSpecialTokens }),
    decode: (ids) =>
      ids.length === 0
        ? ""
        : made.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false }),
    tokenId: (text) => made.token_to_id(text),
    tokenBytes: (id) => bytesOf(made.id_to_token(id)),
    ...(bosId !== undefined && { bosId }),
    ...(eosId !== undefined && { eosIds: [eosId] }),
    vocabularySize: most + 1,
    longestToken: longest,
  };
}

/** True for the bytes of a file of JSON. */
function isJson(bytes: Uint8Array): boolean {
  const first = bytes.find((byte) => ![0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf].includes(byte));
  return first === 0x7b;
}

/** Makes a tokenizer of what the caller has. */
export async function tokenizerOf(
  given: TextTokenizer | TokenizerFile,
  config: object,
): Promise<TextTokenizer> {
  if (isTokenizer(given)) return given;
  if (given === undefined || given === null)
    throw badArgument("'tokenizer' of openLanguageModel()", "a tokenizer or a file of one", given);
  const contents = await contentsOf(given, "'tokenizer' of openLanguageModel()");
  const isBinary = contents instanceof Uint8Array && !isJson(contents);
  if (isBinary) return new Llama2cTokenizer(contents);
  return ofJson(jsonOf(contents, "the tokenizer"), config);
}

/** The ids of a text, checked. */
export function idsOf(tokenizer: TextTokenizer, text: string, addSpecialTokens: boolean): number[] {
  const given: unknown = tokenizer.encode(text, { addSpecialTokens });
  const list = isObject(given) && "ids" in given ? given["ids"] : given;
  const length = isObject(list) ? list["length"] : undefined;
  if (!Number.isSafeInteger(length))
    throw badArgument("the result of encode() of the tokenizer", "a list of token ids", given);
  const ids = Array.from(list as ArrayLike<unknown>, Number);
  checkIds(ids, "the tokenizer");
  return ids;
}

/** Throws unless all of them are token ids. */
export function checkIds(ids: readonly unknown[], what: string): asserts ids is number[] {
  const isId = (id: unknown): boolean =>
    Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) <= ID_MAX;
  const wrong = ids.findIndex((id) => !isId(id));
  if (wrong >= 0)
    throw badArgument(`token ${wrong} of ${what}`, "a whole number, 0 or more", ids[wrong]);
}
