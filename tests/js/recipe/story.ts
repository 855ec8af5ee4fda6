// The story teller, as tests judge it: how surprised it is by the golden text, token by token, with
// a cache that `prefill` fills and `decode` goes on with.
import { readFileSync } from "node:fs";
import type { ExportOptions, InputTuple, Program, Tensor, Value } from "sconce";
import { samplePath } from "../setup/reference.js";

export const STORY = {
  prefill: { path: samplePath("stories260k.prefill.pt2") },
  decode: { path: samplePath("stories260k.decode.pt2") },
} as const;

const golden = JSON.parse(readFileSync(samplePath("stories260k.golden.json"), "utf8")) as {
  tokens: number[];
};
export const TOKENS: readonly number[] = golden.tokens;

const int64 = (values: readonly number[], shape: number[]): Tensor => ({
  dtype: "int64",
  shape,
  data: BigInt64Array.from(values, BigInt),
});

const prefillCall = (count: number): Tensor[] => [
  int64(TOKENS.slice(0, count), [1, count]),
  int64([...TOKENS.slice(0, count).keys()], [count]),
];
const decodeCall = (at: number): Tensor[] => [int64([TOKENS[at]!], [1, 1]), int64([at], [1])];

/** Calls of both methods that show them the golden text. */
export const STORY_CALLS: NonNullable<ExportOptions["exampleInputs"]> = {
  prefill: [32, 96, 160].map(prefillCall) as InputTuple[],
  decode: [...TOKENS.keys()].map(decodeCall) as InputTuple[],
};

/** How unlikely a token is by these logits: the logarithm, negative. */
function surprise(logits: Value, token: number): number {
  const x = Array.from((logits as Tensor).data as Float32Array);
  const largest = Math.max(...x);
  const sum = x.reduce((total, each) => total + Math.exp(each - largest), 0);
  return Math.log(sum) + largest - x[token]!;
}

/**
 * Perplexity on the text from token `from` on. Those before it are known: one `prefill` has read them,
 * or else `decode`, one by one.
 */
export function perplexity(program: Program, from = 1, isPrefilled = false): number {
  program.reset();
  let sum = 0;
  for (let at = isPrefilled ? from - 1 : 0; at + 1 < TOKENS.length; at++) {
    const isFirst = isPrefilled && at === from - 1;
    const [method, call] = isFirst ? ["prefill", prefillCall(from)] : ["decode", decodeCall(at)];
    const [logits] = program.run(method as string, call as Tensor[]);
    if (at + 1 >= from) sum += surprise(logits!, TOKENS[at + 1]!);
  }
  return Math.exp(sum / (TOKENS.length - from));
}

/** The text that it writes by itself: the likeliest token, over and over. */
export function reported(program: Program, count: number): number[] {
  program.reset();
  const tokens = [TOKENS[0]!];
  while (tokens.length < count) {
    const at = tokens.length - 1;
    const call = [int64([tokens[at]!], [1, 1]), int64([at], [1])];
    const logits = Array.from((program.run("decode", call)[0] as Tensor).data as Float32Array);
    tokens.push(logits.indexOf(Math.max(...logits)));
  }
  return tokens;
}
