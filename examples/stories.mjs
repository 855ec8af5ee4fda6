// Telling a story by calls of a lowered language model: greedy decoding, one token at a time. Works with
// the engine and with the client alike, since awaiting a plain value is allowed. sconce/llm does more.

/** Token 1 begins a text and, when the model produces it, ends it. */
export const BEGIN = 1;

/** @param {ArrayLike<number>} logits */
export function argmax(logits) {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i;
  return best;
}

/** Numbers as a tensor of that shape. */
export const int64 = (/** @type {number[]} */ values, /** @type {number[]} */ shape) => ({
  dtype: /** @type {const} */ ("int64"),
  shape,
  data: BigInt64Array.from(values, BigInt),
});

/**
 * Yields tokens, each the likeliest after those before it. Calls `decode` once a token, after one
 * `prefill` when the prompt has several tokens.
 * @param {{ run(method: string, inputs: any[]): any, reset(): any }} program methods prefill and decode, one KV cache
 * @param {number} count how many tokens to yield, those of the prompt included
 * @param {number[]} [prompt] token ids
 */
export async function* tell(program, count, prompt = [BEGIN]) {
  await program.reset();
  const tokens = [...prompt];
  yield* tokens;
  let logits;
  if (tokens.length > 1) {
    [logits] = await program.run("prefill", [
      int64(tokens, [1, tokens.length]),
      int64(
        tokens.map((_, i) => i),
        [tokens.length],
      ),
    ]);
  }
  while (tokens.length < count) {
    if (!logits) {
      [logits] = await program.run("decode", [
        int64([tokens[tokens.length - 1]], [1, 1]),
        int64([tokens.length - 1], [1]),
      ]);
    }
    const next = argmax(logits.data);
    logits = undefined;
    tokens.push(next);
    yield next;
  }
}
