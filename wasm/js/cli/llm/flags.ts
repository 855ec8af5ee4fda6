// The flags of commands that generate text, and the values that they stand for.
import type { Flags } from "../shell/flag.js";
import type { ValuesOf } from "../shell/command.js";
import { SconceError, withCause } from "../../base/errors.js";
import { readWhole, reason } from "../files/files.js";
import { UsageError } from "../usage.js";
import { jsonOf } from "../../llm/files.js";
import type { GenerateOptions } from "../../llm/types.js";

/** The flags that name files of a tokenizer. */
export const TOKENIZER_FLAGS = {
  tokenizer: {
    type: "string",
    value: "FILE",
    text:
      "tokenizer.json of Hugging Face, which needs the package @huggingface/tokenizers, or tokenizer.bin of " +
      "llama2.c. tokenizer_config.json and chat_template.jinja in the same folder are read, too",
  },
  "context-length": {
    type: "string",
    value: "N",
    text: "the length of the cache, if the program does not tell it, or a shorter one",
  },
} as const satisfies Flags;

/** The flags that say how tokens are chosen, and when an answer ends. */
export const SAMPLING_FLAGS = {
  "max-new-tokens": {
    type: "string",
    value: "N",
    text: "the most tokens to generate; by default, as many as the context holds",
  },
  temperature: {
    type: "string",
    value: "X",
    text: "0 takes the most likely token; higher values sample more freely, and differently each time unless there is a --seed; 0 by default",
  },
  "top-k": { type: "string", value: "N", text: "sample from the N most likely tokens" },
  "top-p": {
    type: "string",
    value: "X",
    text: "sample from the fewest tokens whose probabilities have the sum X",
  },
  "min-p": {
    type: "string",
    value: "X",
    text: "sample from tokens with at least the share X of the greatest probability",
  },
  "repetition-penalty": {
    type: "string",
    value: "X",
    text: "divide the scores of tokens that the text has already by X",
  },
  stop: {
    type: "string",
    multiple: true,
    value: "TEXT",
    text: "end the answer before this text",
  },
  schema: {
    type: "string",
    value: "FILE",
    text: "a JSON schema that the answer fits",
  },
} as const satisfies Flags;

type Values = ValuesOf<typeof TOKENIZER_FLAGS & typeof SAMPLING_FLAGS>;

/** A number in the text of a flag. The library checks its range and names its option. */
function numberOf(flag: string, text: string): number {
  if (text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  throw new UsageError(`--${flag} takes a number, not '${text}'`);
}

/** Advice for each flag that names a file. */
const FILES = {
  tokenizer:
    "Give the path of the model's tokenizer.json, which comes with it from Hugging Face, or of tokenizer.bin of llama2.c.",
  schema: "Give the path of a file with a JSON schema.",
} as const;

/** Reads the file that a flag names. */
export function readNamed(flag: keyof typeof FILES, path: string): Uint8Array {
  try {
    return readWhole(path);
  } catch (error) {
    const message = `--${flag}: cannot read ${path}: ${reason(error)}`;
    throw withCause(new SconceError("io", message, FILES[flag]), error);
  }
}

/** The schema in a file. The library checks it. */
function schemaIn(path: string): NonNullable<GenerateOptions["schema"]> {
  const json = jsonOf(readNamed("schema", path), path);
  return json as Readonly<Record<string, unknown>>;
}

/** The options that are numbers, by the flag of each. */
const NUMBERS = {
  "max-new-tokens": "maxNewTokens",
  temperature: "temperature",
  "top-k": "topK",
  "top-p": "topP",
  "min-p": "minP",
  "repetition-penalty": "repetitionPenalty",
} as const;

/** The options of `generate` that the flags stand for. */
export function generateOptions(values: Values): GenerateOptions {
  const options: GenerateOptions = {};
  for (const [flag, name] of Object.entries(NUMBERS)) {
    const text = values[flag as keyof typeof NUMBERS];
    if (text !== undefined) options[name] = numberOf(flag, text);
  }
  if (values.stop) options.stop = values.stop;
  if (values.schema !== undefined) options.schema = schemaIn(values.schema);
  return options;
}

/** The length of the cache. */
export function contextLengthOf(values: Values): number | undefined {
  const text = values["context-length"];
  return text === undefined ? undefined : numberOf("context-length", text);
}
