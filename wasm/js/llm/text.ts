// Text of tokens as they come: characters whose bytes are not all there are held back, and so is the
// beginning of a text that would end the answer.
import { SconceError } from "../base/errors.js";
import type { TextTokenizer } from "./types.js";

/** The character that stands for bytes that are no character, or not yet. */
const INCOMPLETE = "\uFFFD";
/** Tokens that are decoded together: more is slow, and fewer may decode differently. */
const WINDOW = 24;
/** Tokens before a text that are decoded with it, because a space may depend on them. */
const LEAD = 6;

/** Joins tokens to text. All of it together is the text of all tokens. */
export class Detokenizer {
  private ids: number[];
  /** Characters of the text of `ids` that are given out. */
  private given: number;

  constructor(
    private readonly tokenizer: TextTokenizer,
    before: readonly number[],
  ) {
    this.ids = before.slice(-LEAD).filter((id) => id >= 0);
    this.given = this.textOf(this.ids).length;
  }

  private textOf(ids: number[]): string {
    const text: unknown = ids.length === 0 ? "" : this.tokenizer.decode(ids);
    if (typeof text === "string") return text;
    throw new SconceError(
      "argument",
      `'decode' of the tokenizer gave ${text === null ? "null" : typeof text}, not a text`,
      "Return the text of the ids that it is given.",
    );
  }

  /** Gives the text that is certain after another token. */
  push(token: number): string {
    this.ids.push(token);
    const text = this.textOf(this.ids);
    const end = text.endsWith(INCOMPLETE) ? text.length - 1 : text.length;
    const fresh = text.slice(this.given, end);
    this.given = Math.max(this.given, end);
    if (this.ids.length > WINDOW && end === text.length) this.shorten(text);
    return fresh;
  }

  /** Forgets the first tokens, where the others alone have the same text. */
  private shorten(text: string): void {
    for (let count = LEAD; count < WINDOW; count++) {
      const ids = this.ids.slice(-count);
      const alone = this.textOf(ids);
      // Some decoders drop a space at the beginning.
      if (!text.endsWith(alone) || alone === "") continue;
      this.ids = ids;
      this.given = alone.length;
      return;
    }
  }

  /** Gives the text that is left when no more tokens come. */
  end(): string {
    const fresh = this.textOf(this.ids).slice(this.given);
    this.given += fresh.length;
    return fresh;
  }
}

/** The length of the longest end of a text that some other text begins with. */
function heldLength(text: string, stops: readonly string[]): number {
  const most = Math.min(text.length, Math.max(0, ...stops.map(({ length }) => length - 1)));
  for (let length = most; length > 0; length--) {
    const end = text.slice(-length);
    if (stops.some((stop) => stop.length > length && stop.startsWith(end))) return length;
  }
  return 0;
}

/** Finds the texts that end an answer. The one that is complete first ends it. */
export class StopTexts {
  private held = "";
  /** True if a stop text has come. */
  isFound = false;

  constructor(private readonly stops: readonly string[]) {}

  /** Gives the text that no stop text can be a part of. */
  push(text: string): string {
    const all = this.held + text;
    const found = this.stops
      .map((stop) => ({ at: all.indexOf(stop), length: stop.length }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at + a.length - (b.at + b.length) || a.at - b.at);
    if (found.length > 0) {
      this.isFound = true;
      this.held = "";
      return all.slice(0, found[0]!.at);
    }
    const length = heldLength(all, this.stops);
    this.held = all.slice(all.length - length);
    return all.slice(0, all.length - length);
  }

  /** Gives the text that was held back, when no more comes. */
  end(): string {
    const { held } = this;
    this.held = "";
    return held;
  }
}
