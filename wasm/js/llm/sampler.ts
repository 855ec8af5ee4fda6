// Choosing the next token by its scores. Vocabularies have a hundred thousand tokens and more, so all of
// them are looked at, but never sorted: only those that can be chosen are.
import { SconceError } from "../base/errors.js";
import type { Constraint } from "./constraint.js";
import { Random } from "./random.js";

/** How tokens are chosen. */
export interface Sampling {
  readonly temperature: number;
  /** 0 for all. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly seed: number | bigint;
}

/** Nucleus sampling first looks at tokens this near to the best, as a power of e. */
const NEAR = 8;

function noScores(): SconceError {
  return new SconceError(
    "numeric",
    "no token can be chosen: every score is not a number, or minus infinity",
    "Check the program with known inputs. Weights of a half type may overflow.",
  );
}

/** The first of the greatest scores. */
export function argmax(scores: Float32Array): number {
  let best = -1;
  let greatest = -Infinity;
  for (let i = 0; i < scores.length; i++) {
    const score = scores[i]!;
    if (score > greatest) {
      greatest = score;
      best = i;
    }
  }
  if (best < 0) throw noScores();
  return best;
}

/** Greater scores first; of equal ones the lower id. */
const byScore =
  (scores: Float32Array) =>
  (a: number, b: number): number =>
    scores[b]! - scores[a]! || a - b;

/** The ids of the `count` greatest scores, the greatest first: a heap holds the best so far. */
export function greatest(scores: Float32Array, count: number): number[] {
  const order = byScore(scores);
  // The worst of the heap is its root.
  const heap: number[] = [];
  const sink = (root: number): void => {
    for (let at = root; ;) {
      let worst = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < heap.length && order(heap[child]!, heap[worst]!) > 0) worst = child;
      if (worst === at) return;
      [heap[at], heap[worst]] = [heap[worst]!, heap[at]!];
      at = worst;
    }
  };
  let least = -Infinity;
  for (let id = 0; id < scores.length; id++) {
    const score = scores[id]!;
    if (heap.length < count) {
      if (!(score > -Infinity)) continue;
      heap.push(id);
      if (heap.length < count) continue;
      for (let root = count >> 1; root >= 0; root--) sink(root);
      least = scores[heap[0]!]!;
    } else if (score > least) {
      heap[0] = id;
      sink(0);
      least = scores[heap[0]!]!;
    }
  }
  return heap.sort(order);
}

/** Chooses tokens. */
export class Sampler {
  private readonly random: Random;
  private readonly seen = new Set<number>();

  constructor(private readonly sampling: Sampling) {
    this.random = new Random(sampling.seed);
  }

  /** Takes note of tokens that the text has, for the penalty on repetition. */
  note(tokens: Iterable<number>): void {
    if (this.sampling.repetitionPenalty === 1) return;
    for (const token of tokens) this.seen.add(token);
  }

  /** Chooses a token that the constraint allows, and takes note of it. Changes the scores. */
  choose(scores: Float32Array, constraint?: Constraint): number {
    this.penalize(scores);
    const token = this.chosen(scores, constraint);
    this.note([token]);
    constraint?.take(token);
    return token;
  }

  private chosen(scores: Float32Array, constraint: Constraint | undefined): number {
    const isGreedy = this.sampling.temperature === 0;
    if (isGreedy) return constraint ? constraint.best(scores, argmax) : argmax(scores);
    constraint?.mask(scores);
    return this.drawn(scores);
  }

  private penalize(scores: Float32Array): void {
    const { repetitionPenalty } = this.sampling;
    for (const token of this.seen) {
      const score = scores[token];
      if (score === undefined) continue;
      scores[token] = score < 0 ? score * repetitionPenalty : score / repetitionPenalty;
    }
  }

  private drawn(scores: Float32Array): number {
    const { temperature, topK, topP, minP } = this.sampling;
    const best = scores[argmax(scores)]!;
    // Infinity stands for certainty.
    if (best === Infinity) return argmax(scores);
    const weight = (id: number): number => Math.exp((scores[id]! - best) / temperature);
    if (topK > 0 && topK < scores.length) {
      const ids = greatest(scores, topK);
      return this.among(cut(ids, weight, topP, minP, sum(ids, weight)), weight);
    }
    if (topP === 1 && minP === 0) return this.ofAll(scores, best);
    const total = topP === 1 ? Infinity : this.total(scores, best);
    return this.among(this.likely(scores, best, total, weight), weight);
  }

  /** The tokens that nucleus and minimum leave, by looking at nearer ones first. */
  private likely(
    scores: Float32Array,
    best: number,
    total: number,
    weight: (id: number) => number,
  ): number[] {
    const { temperature, topP, minP } = this.sampling;
    const most = minP > 0 ? -Math.log(minP) : Infinity;
    for (let near = topP < 1 ? Math.min(NEAR, most) : most; ; near = Math.min(2 * near, most)) {
      const floor = best - near * temperature;
      const ids: number[] = [];
      for (let id = 0; id < scores.length; id++) if (scores[id]! >= floor) ids.push(id);
      const isEnough = topP < 1 && sum(ids, weight) >= topP * total;
      if (isEnough || near === most || floor === -Infinity || near > 2 ** 12)
        return cut(ids.sort(byScore(scores)), weight, topP, minP, total);
    }
  }

  private total(scores: Float32Array, best: number): number {
    const { temperature } = this.sampling;
    let total = 0;
    for (let i = 0; i < scores.length; i++) {
      const weight = Math.exp((scores[i]! - best) / temperature);
      if (weight > 0) total += weight;
    }
    return total;
  }

  /** Draws from the whole vocabulary, in the order of the ids. */
  private ofAll(scores: Float32Array, best: number): number {
    const { temperature } = this.sampling;
    const goal = this.random.next() * this.total(scores, best);
    let passed = 0;
    let last = 0;
    for (let i = 0; i < scores.length; i++) {
      const weight = Math.exp((scores[i]! - best) / temperature);
      if (!(weight > 0)) continue;
      passed += weight;
      last = i;
      if (passed > goal) break;
    }
    return last;
  }

  private among(ids: readonly number[], weight: (id: number) => number): number {
    const goal = this.random.next() * sum(ids, weight);
    let passed = 0;
    for (const id of ids) {
      passed += weight(id);
      if (passed > goal) return id;
    }
    return ids.at(-1)!;
  }
}

const sum = (ids: readonly number[], weight: (id: number) => number): number =>
  ids.reduce((total, id) => total + weight(id), 0);

/** Cuts sorted ids where their share is reached, and where they become too unlikely. Keeps the first. */
function cut(
  ids: readonly number[],
  weight: (id: number) => number,
  topP: number,
  minP: number,
  total: number,
): number[] {
  const kept: number[] = [];
  let passed = 0;
  for (const id of ids) {
    if (kept.length > 0 && ((topP < 1 && passed >= topP * total) || weight(id) < minP)) break;
    kept.push(id);
    passed += weight(id);
  }
  return kept;
}
