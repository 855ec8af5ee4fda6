// Scores (logits) of one token as float32, where they lie in the output of a method.
import { SconceError } from "../base/errors.js";
import { isSmallFloat, numbersOf } from "../tensor/floats.js";
import { isTensorLike } from "../tensor/bytes.js";
import type { Value } from "../types/index.js";

function mismatch(method: string, found: string): SconceError {
  return new SconceError(
    "mismatch",
    `method '${method}' gave ${found} in the place of scores`,
    "Export the model again: its file declares another output.",
  );
}

/** Reads the scores of a model, with room of its own for those that must be converted. */
export class Scores {
  private room = new Float32Array(0);

  constructor(private readonly vocabulary: number) {}

  /**
   * The scores of token `index`, from the output of a method. Callers may change them: they are a part
   * of the output, which is a copy, or of room that the next call writes again.
   */
  at(output: Value | undefined, method: string, index: number): Float32Array {
    if (output === undefined || !isTensorLike(output)) throw mismatch(method, "no tensor");
    const { dtype, data } = output;
    const { vocabulary } = this;
    const rows = data.length / vocabulary;
    const row = rows === 1 ? 0 : index;
    if (!(Number.isInteger(rows) && row < rows))
      throw mismatch(method, `a tensor of ${data.length} elements`);
    const from = row * vocabulary;
    if (dtype === "float32") return data.subarray(from, from + vocabulary);
    return this.converted(data as ArrayLike<number>, dtype, from);
  }

  private converted(data: ArrayLike<number>, dtype: string, from: number): Float32Array {
    const { vocabulary } = this;
    if (this.room.length === 0) this.room = new Float32Array(vocabulary);
    const { room } = this;
    if (isSmallFloat(dtype)) {
      const numbers = numbersOf(dtype);
      for (let i = 0; i < vocabulary; i++) room[i] = numbers[data[from + i]!]!;
    } else for (let i = 0; i < vocabulary; i++) room[i] = data[from + i]!;
    return room;
  }
}
