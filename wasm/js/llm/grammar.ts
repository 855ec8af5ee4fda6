// Languages of texts as trees of bytes, sequences, choices and repetitions, and a machine that reads them
// byte by byte, because a token may end within a character. Its states are sets of stacks, made when they are first met.
import { SconceError } from "../base/errors.js";
import { finiteWithin } from "./finite.js";
import type { Language } from "./language.js";

/** One of some bytes. */
export const byte = (has: (byte: number) => boolean): Language => ({ kind: "byte", has });
/** A byte of a range. */
export const between = (least: number, most: number): Language =>
  byte((one) => one >= least && one <= most);
/** One language after another. */
export const sequence = (...parts: readonly Language[]): Language => ({ kind: "sequence", parts });
/** One of several languages. */
export const choice = (...options: readonly Language[]): Language => ({ kind: "choice", options });
/** A language as often as `min` to `max` times. */
export const repeat = (part: Language, min: number, max = Infinity): Language => ({
  kind: "repeat",
  part,
  min,
  max,
});
/** A language, or an empty text. */
export const optional = (part: Language): Language => repeat(part, 0, 1);

/** A text as it stands. */
export function literal(text: string): Language {
  const parts = Array.from(new TextEncoder().encode(text), (wanted) => between(wanted, wanted));
  return { kind: "sequence", parts };
}

/** One of the characters of a text, which are those of ASCII. */
export function anyOf(text: string): Language {
  const wanted = new Set(new TextEncoder().encode(text));
  return byte((one) => wanted.has(one));
}

/** A stack of languages to be read. The top is a language, or a place in a sequence or a repetition. */
interface Frame {
  readonly id: number;
  readonly language: Language;
  /** The part of a sequence, or how often a repetition was read. */
  readonly at: number;
  readonly next: Frame | undefined;
}

/** A state of the machine: the stacks whose tops take a byte. */
export interface State {
  readonly frames: readonly Frame[];
  /** True if the text may end here. */
  readonly isEnd: boolean;
  /** The states after bytes, as far as they are known. */
  readonly after: (State | null | undefined)[];
}

/** Machines forget their states beyond this many. */
const STATES_MAX = 20_000;
/** Stacks of one state: more are of a schema whose choices do not end. */
const STACKS_MAX = 4096;

const tooMany = (): SconceError =>
  new SconceError(
    "limit",
    `the schema leaves more than ${STACKS_MAX} ways to go on`,
    "Use fewer optional properties and alternatives, or shorter lists.",
  );

/** Reads texts of a language as UTF-8. */
export class Machine {
  private readonly frames = new Map<string, Frame>();
  private readonly languages = new Map<Language, number>();
  private readonly states = new Map<string, State>();
  /** The languages with texts of finite length. Others are no way to go on: they never end. */
  private readonly finite: ReadonlySet<Language>;
  readonly first: State;

  constructor(language: Language) {
    this.finite = finiteWithin(language);
    const isFinite = this.finite.has(language);
    this.first = this.stateOf(isFinite ? [this.frame(language, 0, undefined)] : []);
  }

  private frame(language: Language, at: number, next: Frame | undefined): Frame {
    let number = this.languages.get(language);
    if (number === undefined) this.languages.set(language, (number = this.languages.size));
    const key = `${number} ${at} ${next?.id ?? -1}`;
    let found = this.frames.get(key);
    if (!found) this.frames.set(key, (found = { id: this.frames.size, language, at, next }));
    return found;
  }

  /** The state of these stacks, with the stacks that they become without reading a byte. */
  private stateOf(stacks: readonly (Frame | undefined)[]): State {
    const seen = new Set<Frame>();
    const tops: Frame[] = [];
    let isEnd = false;
    const waiting = [...stacks];
    while (waiting.length > 0) {
      const frame = waiting.pop();
      if (!frame) {
        isEnd = true;
        continue;
      }
      if (seen.has(frame)) continue;
      if (seen.size >= STACKS_MAX) throw tooMany();
      seen.add(frame);
      if (frame.language.kind === "byte") tops.push(frame);
      else waiting.push(...this.expanded(frame));
    }
    const key = `${isEnd}${tops.map(({ id }) => id).sort((a, b) => a - b)}`;
    const known = this.states.get(key);
    if (known) return known;
    if (this.states.size >= STATES_MAX) this.states.clear();
    const after = new Array<State | null | undefined>(256).fill(undefined);
    const state = { frames: tops, isEnd, after };
    this.states.set(key, state);
    return state;
  }

  private expanded({ language, at, next }: Frame): (Frame | undefined)[] {
    switch (language.kind) {
      case "sequence": {
        const part = language.parts[at];
        if (!part) return [next];
        const isLast = at + 1 === language.parts.length;
        return [this.frame(part, 0, isLast ? next : this.frame(language, at + 1, next))];
      }
      case "choice":
        return language.options
          .filter((option) => this.finite.has(option))
          .map((option) => this.frame(option, 0, next));
      case "repeat": {
        const { part, min, max } = language;
        const ends = at >= min ? [next] : [];
        if (at >= max || !this.finite.has(part)) return ends;
        // Beyond the least and without a most, the count makes no difference.
        const count = max === Infinity ? Math.min(at + 1, min) : at + 1;
        return [...ends, this.frame(part, 0, this.frame(language, count, next))];
      }
      case "later":
        return [this.frame(language.get(), 0, next)];
      default:
        return [];
    }
  }

  /** The state after a byte; undefined if no text of the language goes on so. */
  step(state: State, next: number): State | undefined {
    const known = state.after[next];
    if (known !== undefined) return known ?? undefined;
    const stacks = state.frames
      .filter(({ language }) => language.kind === "byte" && language.has(next))
      .map((frame) => frame.next);
    const after = stacks.length > 0 ? this.stateOf(stacks) : undefined;
    const found = after && (after.frames.length > 0 || after.isEnd) ? after : undefined;
    state.after[next] = found ?? null;
    return found;
  }

  /** The state after some bytes. */
  read(state: State, bytes: Uint8Array): State | undefined {
    let found: State | undefined = state;
    for (const one of bytes) {
      if (!found) return undefined;
      found = this.step(found, one);
    }
    return found;
  }
}
