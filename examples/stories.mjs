// Telling a story with a lowered language model: a vocabulary, and greedy decoding one token at a
// time. Works with the engine and with the client alike, since awaiting a plain value is allowed.

/** Token 1 begins a text and, when the model produces it, ends it. */
export const BEGIN = 1;

/** The tokens for single bytes come after "unknown", "begin" and "end". */
const FIRST_BYTE = 3;

/** Bytes as a string of as many characters, for looking them up. */
const keyOf = (/** @type {Uint8Array} */ bytes) => String.fromCharCode(...bytes);

/** The pieces of a tokenizer in llama2.c's format. */
export class Vocabulary {
  /** @param {ArrayBuffer | Uint8Array} file */
  constructor(file) {
    const bytes = file instanceof Uint8Array ? file : new Uint8Array(file);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    /** @type {Uint8Array[]} */
    this.pieces = [];
    /** @type {number[]} */
    this.scores = [];
    for (let at = 4; at + 8 <= bytes.length;) {
      const size = view.getInt32(at + 4, true);
      this.scores.push(view.getFloat32(at, true));
      this.pieces.push(bytes.subarray(at + 8, at + 8 + size));
      at += 8 + size;
    }
    this.tokens = new Map(this.pieces.map((piece, token) => [keyOf(piece), token]));
  }

  /** @param {number} a @param {number} b the token that stands for both */
  #merged(a, b) {
    return this.tokens.get(keyOf(this.pieces[a]) + keyOf(this.pieces[b]));
  }

  /**
   * Tokens of the beginning of a text: its characters, two neighbours made one as long as there is
   * a piece for both, the one with the best score first.
   * @param {string} text
   */
  encode(text) {
    if (text === "") return [BEGIN];
    const tokens = [...` ${text}`].flatMap((character) => {
      const bytes = new TextEncoder().encode(character);
      const token = this.tokens.get(keyOf(bytes));
      return token === undefined ? Array.from(bytes, (byte) => FIRST_BYTE + byte) : [token];
    });
    for (;;) {
      let [best, at] = [-Infinity, -1];
      for (let i = 0; i + 1 < tokens.length; i++) {
        const token = this.#merged(tokens[i], tokens[i + 1]);
        if (token !== undefined && this.scores[token] > best) [best, at] = [this.scores[token], i];
      }
      if (at < 0) return [BEGIN, ...tokens];
      tokens.splice(at, 2, /** @type {number} */ (this.#merged(tokens[at], tokens[at + 1])));
    }
  }

  /**
   * The bytes that a token adds to a text. A piece such as "<0x0A>" stands for that byte; the space
   * before the first word is dropped.
   * @param {number} token
   * @param {number} previous
   * @returns {Uint8Array}
   */
  bytes(token, previous) {
    const piece = this.pieces[token] ?? new Uint8Array();
    const text = keyOf(piece);
    const raw = /^<0x([0-9A-F]{2})>$/.exec(text);
    if (raw) return Uint8Array.of(parseInt(raw[1], 16));
    return previous === BEGIN && text.startsWith(" ") ? piece.subarray(1) : piece;
  }
}

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
