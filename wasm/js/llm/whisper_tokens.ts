// The special tokens of Whisper, and the rules by which tokens of times follow each other.
import { SconceError } from "../base/errors.js";
import { oneOf } from "../base/nearest.js";
import type { TextTokenizer } from "./types.js";

/** The languages of Whisper, in the order of their tokens. */
const LANGUAGES =
  "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su yue";

/** Seconds between two tokens of times. */
export const TIME_STEP = 0.02;
/** The first time of a window is at most this token: one second. */
const FIRST_TIME_MAX = 50;

/** The special tokens of a model. */
export interface WhisperTokens {
  readonly begin: number;
  readonly end: number;
  readonly transcribe: number | undefined;
  readonly translate: number | undefined;
  readonly withoutTimes: number;
  readonly silence: number | undefined;
  /** The token of 0 seconds; greater ones are later times. */
  readonly firstTime: number;
  /** The tokens of languages, by their codes. Empty for a model of one language. */
  readonly languages: ReadonlyMap<string, number>;
}

/** Finds the special tokens. */
export function whisperTokens(tokenizer: TextTokenizer): WhisperTokens {
  const id = (text: string): number | undefined => tokenizer.tokenId?.(`<|${text}|>`);
  const [begin, end, withoutTimes] = [id("startoftranscript"), id("endoftext"), id("notimestamps")];
  if (begin === undefined || end === undefined || withoutTimes === undefined)
    throw new SconceError(
      "argument",
      "the tokenizer lacks the tokens of Whisper, such as <|startoftranscript|>",
      "Pass the tokenizer.json of the speech model.",
    );
  const languages = LANGUAGES.split(" ").flatMap((code): [string, number][] => {
    const token = id(code);
    return token === undefined ? [] : [[code, token]];
  });
  return {
    begin,
    end,
    transcribe: id("transcribe"),
    translate: id("translate"),
    withoutTimes,
    silence: id("nospeech") ?? id("nocaptions"),
    firstTime: id("0.00") ?? withoutTimes + 1,
    languages: new Map(languages),
  };
}

/** The token of a language. */
export function languageToken({ languages }: WhisperTokens, code: string): number {
  const token = languages.get(code);
  if (token !== undefined) return token;
  throw new SconceError(
    "option",
    `the model does not know the language '${code.slice(0, 20)}'`,
    languages.size > 0
      ? oneOf(code, [...languages.keys()])
      : "Leave it out: it knows one language.",
  );
}

/** The logarithm of the sum of the exponentials of some scores. */
export function logSum(scores: Float32Array, from = 0, to = scores.length): number {
  let most = -Infinity;
  for (let i = from; i < to; i++) if (scores[i]! > most) most = scores[i]!;
  if (most === -Infinity) return -Infinity;
  let sum = 0;
  for (let i = from; i < to; i++) sum += Math.exp(scores[i]! - most) || 0;
  return most + Math.log(sum);
}

/** Rules out tokens that cannot come next in a window: scores of minus infinity. */
export function ruleOut(
  scores: Float32Array,
  tokens: readonly number[],
  special: WhisperTokens,
  hasTimes: boolean,
): void {
  const { end, firstTime } = special;
  // Between the end and the times are tokens that only a prompt has.
  scores.fill(-Infinity, end + 1, hasTimes ? firstTime : scores.length);
  if (!hasTimes) return;
  const isTime = (token: number | undefined): boolean => token !== undefined && token >= firstTime;
  const [before, last] = [tokens.at(-2), tokens.at(-1)];
  if (tokens.length === 0) {
    scores.fill(-Infinity, 0, firstTime);
    scores.fill(-Infinity, firstTime + FIRST_TIME_MAX + 1);
    return;
  }
  if (isTime(last)) {
    // Times come in pairs: the end of a segment, and the begin of the next.
    if (isTime(before) || tokens.length === 1) scores.fill(-Infinity, firstTime);
    else scores.fill(-Infinity, 0, end);
  }
  const times = tokens.filter(isTime);
  const latest = times.at(-1);
  if (latest !== undefined) {
    // A segment that ends has some length, but the next one may begin at once.
    const next = isTime(last) && !isTime(before) ? latest : latest + 1;
    scores.fill(-Infinity, firstTime, Math.min(next, scores.length));
  }
  // If a time is likelier than every text, it is one, though each single time is unlikely.
  const textBest = scores.subarray(0, firstTime).reduce((a, b) => (b > a ? b : a), -Infinity);
  if (logSum(scores, firstTime) > textBest) scores.fill(-Infinity, 0, firstTime);
}
