// The tokenizer.bin of llama2.c: pieces with scores, of which neighbours are merged by the best score.
import { SconceError } from "../base/errors.js";
import { byteOf } from "./token_bytes.js";
import type { TextTokenizer } from "./types.js";

/** Token 0 is unknown, 1 begins a text, 2 ends one, and then come the 256 single bytes. */
const BEGIN = 1;
const END = 2;
const FIRST_BYTE = 3;
const PIECES_MAX = 2 ** 24;

/** Bytes as a string of as many characters, to look them up. */
function keyOf(bytes: Uint8Array): string {
  let key = "";
  for (const byte of bytes) key += String.fromCharCode(byte);
  return key;
}

interface Piece {
  readonly bytes: Uint8Array;
  readonly score: number;
}

function readPieces(file: Uint8Array): Piece[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const pieces: Piece[] = [];
  for (let at = 4; at < file.length;) {
    const size = at + 8 <= file.length ? view.getInt32(at + 4, true) : -1;
    if (size < 0 || size > file.length - at - 8 || pieces.length === PIECES_MAX)
      throw new SconceError(
        "format",
        `the tokenizer is neither tokenizer.json nor a whole tokenizer.bin of llama2.c: it ends in piece ${pieces.length}`,
        "Pass the contents of tokenizer.json.",
      );
    const bytes = file.subarray(at + 8, at + 8 + size);
    pieces.push({ bytes, score: view.getFloat32(at, true) });
    at += 8 + size;
  }
  return pieces;
}

/** Two neighbours and the token of both, in a queue by score. */
interface Merge {
  readonly left: number;
  readonly right: number;
  readonly token: number;
  readonly score: number;
}

/** The tokenizer of a file that llama2.c reads. */
export class Llama2cTokenizer implements TextTokenizer {
  readonly bosId = BEGIN;
  /** The stories end with the token that begins the next one. */
  readonly eosIds = [BEGIN, END];
  readonly vocabularySize: number;
  readonly longestToken: number;
  private readonly pieces: readonly Piece[];
  private readonly tokens = new Map<string, number>();

  constructor(file: Uint8Array) {
    this.pieces = readPieces(file);
    this.vocabularySize = this.pieces.length;
    this.longestToken = this.pieces.reduce((most, { bytes }) => Math.max(most, bytes.length), 1);
    this.pieces.forEach(({ bytes }, token) => this.tokens.set(keyOf(bytes), token));
  }

  private characters(text: string): number[] {
    const encoder = new TextEncoder();
    return [...` ${text}`].flatMap((character) => {
      const bytes = encoder.encode(character);
      const token = this.tokens.get(keyOf(bytes));
      return token === undefined ? Array.from(bytes, (byte) => FIRST_BYTE + byte) : [token];
    });
  }

  encode(text: string, { addSpecialTokens = true } = {}): number[] {
    const begin = addSpecialTokens ? [BEGIN] : [];
    return text === "" ? begin : [...begin, ...this.merged(this.characters(text))];
  }

  /** Merges neighbours, those with the best score first, and of equal ones the first in the text. */
  private merged(tokens: number[]): number[] {
    // The tokens as a list whose links skip those that were merged into the one before.
    const next = tokens.map((_, i) => i + 1);
    const before = tokens.map((_, i) => i - 1);
    const queue = new MergeQueue();
    const offer = (left: number): void => {
      const right = next[left]!;
      if (left < 0 || right >= tokens.length) return;
      const key =
        keyOf(this.pieces[tokens[left]!]!.bytes) + keyOf(this.pieces[tokens[right]!]!.bytes);
      const token = this.tokens.get(key);
      if (token !== undefined) queue.push({ left, right, token, score: this.pieces[token]!.score });
    };
    const lengths = tokens.map((token) => this.pieces[token]!.bytes.length);
    tokens.forEach((_, i) => offer(i));
    for (let merge = queue.pop(); merge; merge = queue.pop()) {
      const { left, right, token } = merge;
      const size = this.pieces[token]!.bytes.length;
      // One of the two may have been merged with another since.
      if (next[left] !== right || lengths[left]! + lengths[right]! !== size) continue;
      tokens[left] = token;
      lengths[left] = size;
      lengths[right] = -1;
      next[left] = next[right]!;
      if (next[right]! < tokens.length) before[next[right]!] = left;
      offer(left);
      if (before[left]! >= 0) offer(before[left]!);
    }
    return tokens.filter((_, i) => lengths[i]! >= 0);
  }

  tokenBytes(id: number): Uint8Array | undefined {
    const piece = this.pieces[id]?.bytes ?? new Uint8Array();
    const byte = byteOf(keyOf(piece));
    return byte === undefined ? piece : Uint8Array.of(byte);
  }

  /** A piece such as "<0x0A>" stands for that byte. The space before the first word is dropped. */
  decode(ids: readonly number[]): string {
    const bytes: number[] = [];
    let previous = -1;
    for (const id of ids) {
      const piece = this.pieces[id]?.bytes ?? new Uint8Array();
      const byte = byteOf(keyOf(piece));
      const isFirst = previous === BEGIN && piece[0] === 0x20;
      if (byte !== undefined) bytes.push(byte);
      else if (id > END) bytes.push(...(isFirst ? piece.subarray(1) : piece));
      previous = id;
    }
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  }
}

/** Merges, the best first: a heap. */
class MergeQueue {
  private readonly heap: Merge[] = [];

  private isBefore(a: number, b: number): boolean {
    const [x, y] = [this.heap[a]!, this.heap[b]!];
    return x.score > y.score || (x.score === y.score && x.left < y.left);
  }

  private swap(a: number, b: number): void {
    [this.heap[a], this.heap[b]] = [this.heap[b]!, this.heap[a]!];
  }

  push(merge: Merge): void {
    let at = this.heap.push(merge) - 1;
    for (let up = (at - 1) >> 1; at > 0 && this.isBefore(at, up); up = (at - 1) >> 1) {
      this.swap(at, up);
      at = up;
    }
  }

  pop(): Merge | undefined {
    const { heap } = this;
    if (heap.length === 0) return undefined;
    this.swap(0, heap.length - 1);
    const best = heap.pop();
    for (let at = 0; ;) {
      let first = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < heap.length && this.isBefore(child, first)) first = child;
      if (first === at) return best;
      this.swap(at, first);
      at = first;
    }
  }
}
