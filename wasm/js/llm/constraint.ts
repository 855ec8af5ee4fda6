// Tokens that may come next in a text of a language. The texts of all tokens are sorted, so that those
// with the same beginning are read together, and refused together.
import { SconceError } from "../base/errors.js";
import { Machine, type State } from "./grammar.js";
import type { Language } from "./language.js";
import type { TextTokenizer } from "./types.js";

/** The texts of all tokens, as UTF-8. */
export interface TokenTexts {
  /** The text of each token; empty for those that never come in a text. */
  readonly texts: readonly Uint8Array[];
  /** The tokens with a text, in the order of their texts. */
  readonly sorted: readonly number[];
  /** How many bytes each of them shares with the one before. */
  readonly shared: readonly number[];
}

/** The character of bytes that are no whole character. */
const PARTIAL = "\uFFFD";
const EMPTY = /* @__PURE__ */ new Uint8Array();

/**
 * The texts of tokens within a text. Special tokens have none, and so never come in a text of a
 * language. Bytes that are a part of a character are known if the tokenizer tells them.
 */
export function tokenTexts(tokenizer: TextTokenizer, vocabulary: number): TokenTexts {
  const given = tokenizer.encode("a", { addSpecialTokens: false });
  const before = Array.from("ids" in given ? given.ids : given);
  const start = tokenizer.decode([...before]).length;
  const count = Math.min(vocabulary, tokenizer.vocabularySize ?? vocabulary);
  const encoder = new TextEncoder();
  const texts = Array.from({ length: count }, (_, id) => {
    const text = tokenizer.decode([...before, id]).slice(start);
    if (!text.includes(PARTIAL)) return encoder.encode(text);
    return tokenizer.tokenBytes?.(id) ?? EMPTY;
  });
  const sorted = [...texts.keys()]
    .filter((id) => texts[id]!.length > 0)
    .sort((a, b) => compared(texts[a]!, texts[b]!));
  const shared = sorted.map((id, i) =>
    i === 0 ? 0 : sharedBytes(texts[sorted[i - 1]!]!, texts[id]!),
  );
  return { texts, sorted, shared };
}

function sharedBytes(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i;
  return most;
}

function compared(a: Uint8Array, b: Uint8Array): number {
  const at = sharedBytes(a, b);
  return (a[at] ?? -1) - (b[at] ?? -1);
}

/** Greedy choices are tried so often before all tokens are looked at. */
const TRIES = 8;

/** Keeps a text in its language. */
export class Constraint {
  private readonly machine: Machine;
  private state: State;
  private room = new Uint8Array(0);

  constructor(
    language: Language,
    private readonly tokens: TokenTexts,
    private readonly eosIds: ReadonlySet<number>,
  ) {
    this.machine = new Machine(language);
    this.state = this.machine.first;
    if (this.state.frames.length === 0)
      throw new SconceError(
        "argument",
        "no text fits the schema",
        "Check it for false, and give what refers to itself an end, such as null or an empty list.",
      );
  }

  /** True if the text is whole, and cannot go on. */
  get isOver(): boolean {
    return this.state.isEnd && this.state.frames.length === 0;
  }

  private after(token: number): State | undefined {
    const bytes = this.tokens.texts[token] ?? EMPTY;
    return bytes.length === 0 ? undefined : this.machine.read(this.state, bytes);
  }

  private allows(token: number): boolean {
    return this.eosIds.has(token) ? this.state.isEnd : this.after(token) !== undefined;
  }

  /** Rules out the greatest scores that the language refuses, a few of them. Gives one that it takes. */
  best(scores: Float32Array, argmax: (scores: Float32Array) => number): number {
    for (let i = 0; i < TRIES; i++) {
      const token = argmax(scores);
      if (this.allows(token)) return token;
      scores[token] = -Infinity;
    }
    this.mask(scores);
    return argmax(scores);
  }

  /** Rules out all tokens that the language refuses. */
  mask(scores: Float32Array): void {
    if (this.room.length < scores.length) this.room = new Uint8Array(scores.length);
    const allowed = this.room.fill(0);
    const count = this.allow(allowed);
    for (const id of this.eosIds) allowed[id] = this.state.isEnd ? 1 : 0;
    if (count === 0 && !this.state.isEnd)
      throw new SconceError(
        "unsupported",
        "no token of the vocabulary goes on with a text that fits the schema",
        "Use other names and values in it: the tokenizer cannot write these.",
      );
    for (let i = 0; i < scores.length; i++) if (allowed[i] === 0) scores[i] = -Infinity;
  }

  /** Marks the tokens that go on with the text. Gives their number. */
  private allow(allowed: Uint8Array): number {
    const { texts, sorted, shared } = this.tokens;
    // The states after the bytes of the current token, as far as the language takes them.
    const states: State[] = [this.state];
    let [count, taken] = [0, 0];
    let isRefused = false;
    for (let i = 0; i < sorted.length; i++) {
      // It shares a byte that the language refuses.
      if (isRefused && shared[i]! > taken) continue;
      const id = sorted[i]!;
      const bytes = texts[id]!;
      taken = Math.min(taken, shared[i]!);
      isRefused = false;
      while (taken < bytes.length && !isRefused) {
        const after = this.machine.step(states[taken]!, bytes[taken]!);
        if (after) states[++taken] = after;
        else isRefused = true;
      }
      if (isRefused || id >= allowed.length) continue;
      allowed[id] = 1;
      count++;
    }
    return count;
  }

  /** Takes note of the token that was chosen. */
  take(token: number): void {
    if (!this.eosIds.has(token)) this.state = this.after(token) ?? this.state;
  }
}
