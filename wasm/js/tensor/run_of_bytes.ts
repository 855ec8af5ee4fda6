// Tensors that cross the border together: each in JSON by its place, all in one run of bytes.
import { bytesOf } from "./bytes.js";
import type { DType, InputTensor } from "../types/index.js";

/** A tensor in JSON: where its elements stand in the run, row-major. */
export interface PlacedTensor {
  readonly tensor: DType;
  readonly sizes: readonly number[];
  readonly at: number;
}

/** Collects the bytes of tensors one after the other. */
export class RunOfBytes {
  private readonly parts: Uint8Array[] = [];
  private size = 0;

  /** `what` names the tensor for messages. */
  add(value: InputTensor, what: string): PlacedTensor {
    const bytes = bytesOf(value, what);
    const at = this.size;
    this.parts.push(bytes);
    this.size += bytes.length;
    return { tensor: value.dtype, sizes: value.shape, at };
  }

  bytes(): Uint8Array {
    const all = new Uint8Array(this.size);
    let at = 0;
    for (const part of this.parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}
