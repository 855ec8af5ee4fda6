// sconce run --tokens: a program goes on with a text, or with token ids.
import { printJson } from "../print/json.js";
import { isJson } from "../print/terminal.js";
import type { ValuesOf } from "../shell/command.js";
import type { Flags } from "../shell/flag.js";
import { UsageError } from "../usage.js";
import type { LanguageProgram, TextTokenizer } from "../../llm/types.js";
import { printAnswer, printSpeed, summaryJson } from "./answer.js";
import { contextLengthOf, generateOptions, SAMPLING_FLAGS, TOKENIZER_FLAGS } from "./flags.js";
import { openModel } from "./open.js";

/** The flags of `sconce run` for language models. */
export const TOKEN_FLAGS = {
  tokens: {
    type: "string",
    value: "TEXT|IDS",
    text:
      "run a language model: go on with TEXT, which needs --tokenizer, or with token ids (1,403,407). --seed " +
      "is the seed of the choice of tokens, too",
  },
  ...TOKENIZER_FLAGS,
  ...SAMPLING_FLAGS,
} as const satisfies Flags;

export type TokenValues = ValuesOf<typeof TOKEN_FLAGS>;

/** Throws if flags for language models come without --tokens. */
export function checkTokens(values: TokenValues): void {
  if (values.tokens !== undefined) {
    if (values.tokenizer === undefined && !/^\d+(,\d+)*$/.test(values.tokens))
      throw new UsageError(
        "--tokens takes token ids such as 1,403,407, or with --tokenizer FILE a text",
      );
    return;
  }
  const { tokens: _, ...others } = TOKEN_FLAGS;
  const given = Object.keys(others).find((flag) => values[flag as keyof TokenValues] !== undefined);
  if (given !== undefined)
    throw new UsageError(`--${given} belongs to a language model: name its text with --tokens`);
}

/** For ids alone: text is what a reader of ids reads. */
const ids: TextTokenizer = {
  encode: () => [],
  decode: () => "",
};

/** Generates, and prints what comes. */
export async function runTokens(
  program: LanguageProgram,
  path: string,
  values: TokenValues,
  seed: number | undefined,
): Promise<void> {
  const { tokens: given = "", tokenizer } = values;
  const lm = await openModel(program, tokenizer ?? ids, contextLengthOf(values));
  const prompt = tokenizer === undefined ? given.split(",").map(Number) : given;
  const options = { ...generateOptions(values), ...(seed !== undefined && { seed }) };
  const answer = lm.generate(prompt, options);
  const tokens: number[] = [];
  const summary = await printAnswer(answer, (piece) => {
    tokens.push(...piece.tokens);
    return tokenizer === undefined ? piece.tokens.map((id) => `${id} `).join("") : piece.text;
  });
  printSpeed(summary, lm.used, lm.contextLength);
  if (isJson())
    printJson({
      kind: "tokens",
      program: path,
      ...(tokenizer !== undefined && { text: summary.text }),
      tokens,
      ...summaryJson(summary),
    });
}
