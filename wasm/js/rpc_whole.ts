// Views of large buffers, as they are sent to a worker: a message takes the whole buffer with a view.
import { isPlain } from "./check.js";
import { isArrayBuffer } from "./tags.js";

const DEPTH_MAX = 8;

interface Whole<T> {
  readonly value: T;
  /** Buffers that were made here, and can move. */
  readonly made: ArrayBuffer[];
}

/** A view that has only a part of its buffer. Shared memory is not copied. */
const isPart = (view: ArrayBufferView): boolean =>
  isArrayBuffer(view.buffer) && view.byteLength < view.buffer.byteLength;

/** The elements in a buffer of their own. Node's Buffer has another slice(), which copies nothing. */
function copyOf(view: ArrayBufferView, made: ArrayBuffer[]): ArrayBufferView {
  const bytes = new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
  const buffer = Uint8Array.prototype.slice.call(bytes).buffer as ArrayBuffer;
  made.push(buffer);
  const View = Object.getPrototypeOf(view).constructor as { new (b: ArrayBuffer): ArrayBufferView };
  return view instanceof Uint8Array ? new Uint8Array(buffer) : new View(buffer);
}

function mapped(value: unknown, made: ArrayBuffer[], depth: number): unknown {
  if (depth > DEPTH_MAX || typeof value !== "object" || value === null) return value;
  if (ArrayBuffer.isView(value)) return isPart(value) ? copyOf(value, made) : value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapped(item, made, depth + 1));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  if (!isPlain(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, mapped(item, made, depth + 1)]);
  const isSame = entries.every(([key, item]) => item === value[key as string]);
  return isSame ? value : Object.fromEntries(entries);
}

/** The same data, with each view that is a part of its buffer in a buffer of its own. */
export function whole<T>(value: T): Whole<T> {
  const made: ArrayBuffer[] = [];
  return { value: mapped(value, made, 0) as T, made };
}
