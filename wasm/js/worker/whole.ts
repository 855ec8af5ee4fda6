// Views of large buffers, as they are sent to a worker: a message takes the whole buffer with a view.
import { isObject, isPlain } from "../base/check.js";
import { isArrayBuffer, isBytes } from "../base/tags.js";

interface Whole<T> {
  readonly value: T;
  /** Buffers that were made here, and can move. */
  readonly made: ArrayBuffer[];
}

/** A view that has only a part of its buffer. Shared memory is not copied. */
const isPart = (view: ArrayBufferView): boolean =>
  isArrayBuffer(view.buffer) && view.byteLength < view.buffer.byteLength;

/** The elements in a buffer of their own; a Buffer of Node becomes a Uint8Array. */
function copyOf(view: ArrayBufferView): ArrayBufferView {
  const { buffer, byteOffset, byteLength } = view;
  const own = (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);
  if (isBytes(view)) return new Uint8Array(own);
  const View = view.constructor as new (buffer: ArrayBuffer) => ArrayBufferView;
  return new View(own);
}

/** Goes through data once, also through data that refers to itself. */
class Walk {
  readonly made: ArrayBuffer[] = [];
  private readonly seen = new Map<object, unknown>();

  whole(value: unknown): unknown {
    if (!isObject(value)) return value;
    if (this.seen.has(value)) return this.seen.get(value);
    this.seen.set(value, value);
    const found = this.mapped(value);
    this.seen.set(value, found);
    return found;
  }

  private mapped(value: object): unknown {
    if (ArrayBuffer.isView(value)) return this.view(value);
    if (Array.isArray(value)) {
      const items = value.map((item) => this.whole(item));
      return items.some((item, i) => item !== value[i]) ? items : value;
    }
    if (!isPlain(value)) return value;
    const entries = Object.entries(value).map(([key, item]) => [key, this.whole(item)] as const);
    return entries.every(([key, item]) => item === value[key])
      ? value
      : Object.fromEntries(entries);
  }

  private view(view: ArrayBufferView): ArrayBufferView {
    if (!isPart(view)) return view;
    const copy = copyOf(view);
    this.made.push(copy.buffer as ArrayBuffer);
    return copy;
  }
}

/** The same data, with each view that is a part of its buffer in a buffer of its own. */
export function whole<T>(value: T): Whole<T> {
  const walk = new Walk();
  return { value: walk.whole(value) as T, made: walk.made };
}
