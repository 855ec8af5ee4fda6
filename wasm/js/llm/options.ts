// The options of language models: which there are, and which values they take.
import {
  badArgument,
  checkTable,
  isPlain,
  KINDS,
  type Kind,
  type OptionTable,
} from "../base/check.js";
import type { Sampling } from "./sampler.js";
import { randomSeed } from "./random.js";
import type { GenerateOptions } from "./types.js";

/** A kind of numbers. */
export const number = (accepts: string, isRight: (value: number) => boolean): Kind => ({
  accepts,
  test: (value) => typeof value === "number" && isRight(value),
});

const COUNT = number("a whole number, 1 or more", (n) => Number.isSafeInteger(n) && n >= 1);
const IDS: Kind = {
  accepts: "a list of token ids",
  test: (value) => Array.isArray(value) && Array.from(value).every(KINDS.index.test),
};
const TOKEN: Kind = {
  accepts: "a token as text or as its id",
  test: (value) => typeof value === "string" || KINDS.index.test(value),
};
export const SEED: Kind = {
  accepts: "a whole number, 0 or more",
  test: (value) => KINDS.index.test(value) || (typeof value === "bigint" && value >= 0n),
};
const isStop = (value: unknown): boolean => typeof value === "string" && value !== "";
const STOP: Kind = {
  accepts: "a text or a list of texts, none of them empty",
  test: (value) => isStop(value) || (Array.isArray(value) && Array.from(value).every(isStop)),
};

/** The options of `openLanguageModel`. */
export const OPEN_OPTIONS = {
  program: "any",
  tokenizer: "any",
  tokenizerConfig: "any",
  chatTemplate: "any",
  templateVariables: "record",
  eosIds: IDS,
  contextLength: COUNT,
  canRewind: "flag",
  imageOptions: "record",
  imageToken: TOKEN,
  audioToken: TOKEN,
} as const satisfies OptionTable;

const GENERATE_OPTIONS = {
  maxNewTokens: COUNT,
  temperature: number("a number, 0 or more", (n) => n >= 0 && n < Infinity),
  topK: number("a whole number, 0 or more", (n) => Number.isSafeInteger(n) && n >= 0),
  topP: number("a number above 0, and at most 1", (n) => n > 0 && n <= 1),
  minP: number("a number from 0 to 1", (n) => n >= 0 && n <= 1),
  repetitionPenalty: number("a number above 0", (n) => n > 0 && n < Infinity),
  seed: SEED,
  stop: STOP,
  schema: {
    accepts: "a JSON schema: an object, true or false",
    test: (value: unknown) => typeof value === "boolean" || isPlain(value),
  },
  signal: "signal",
  templateVariables: "record",
} as const satisfies OptionTable;

/** Throws unless these are options of `generate` or `send`. */
export const checkGenerate = (where: string, options: unknown): void =>
  checkTable(where, options, GENERATE_OPTIONS);

/** How the options choose tokens. */
export function samplingOf(options: GenerateOptions): Sampling {
  const { temperature = 0, topK = 0, topP = 1, minP = 0, repetitionPenalty = 1 } = options;
  const seed = options.seed ?? randomSeed();
  return { temperature, topK, topP, minP, repetitionPenalty, seed };
}

/** The texts that end an answer. */
export const stopsOf = ({ stop = [] }: GenerateOptions): readonly string[] =>
  typeof stop === "string" ? [stop] : stop;

/** Throws unless a value, which `what` names, is a program with the calls that are needed. */
export function checkProgram(what: string, program: unknown): void {
  const { inspect, run, reset } = (program ?? {}) as Record<string, unknown>;
  if (![inspect, run, reset].every((call) => typeof call === "function"))
    throw badArgument(what, "a loaded program", program);
}
