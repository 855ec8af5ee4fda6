// The random numbers of the official runner (llama2.c's): xorshift64*, of which 24 bits are a coin.

const MASK = (1n << 64n) - 1n;
/** The state that stands for the seed 0, with which the generator would give zeros alone. */
const ZERO = 0x9e3779b97f4a7c15n;

/** A generator of random numbers from 0 to 1, without 1. */
export class Random {
  private state: bigint;

  constructor(seed: number | bigint) {
    this.state = BigInt(seed) & MASK || ZERO;
  }

  next(): number {
    let { state } = this;
    state ^= state >> 12n;
    state ^= (state << 25n) & MASK;
    state ^= state >> 27n;
    this.state = state;
    const high = ((state * 0x2545f4914f6cdd1dn) & MASK) >> 32n;
    return Number(high >> 8n) / 2 ** 24;
  }
}

/** A seed that nobody knows. */
export const randomSeed = (): number => Math.floor(Math.random() * 2 ** 52) + 1;
