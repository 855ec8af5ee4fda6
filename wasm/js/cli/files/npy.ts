// NumPy's .npy files to tensors and back. Format: magic, version, header length, a Python dict
// literal {'descr', 'fortran_order', 'shape'}, then the elements.
import { SconceError } from "../../base/errors.js";
import { tensorOf } from "../../tensor/bytes.js";
import type { DType, Tensor } from "../../types/index.js";

const DESCRIPTORS: Partial<Record<DType, string>> = {
  uint8: "|u1",
  int8: "|i1",
  int16: "<i2",
  int32: "<i4",
  int64: "<i8",
  uint16: "<u2",
  uint32: "<u4",
  uint64: "<u8",
  float16: "<f2",
  float32: "<f4",
  float64: "<f8",
  bool: "|b1",
  complex64: "<c8",
  complex128: "<c16",
  bfloat16: "|V2",
  complex32: "|V4",
  float8_e5m2: "|V1",
  float8_e4m3fn: "|V1",
  float8_e5m2fnuz: "|V1",
  float8_e4m3fnuz: "|V1",
};

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];

function bad(name: string, what: string): SconceError {
  return new SconceError(
    "format",
    `${name}: ${what}`,
    "Save the array with numpy.save, without pickled objects.",
  );
}

interface Header {
  /** Kind and size, without the byte order: "f4". */
  type: string;
  bigEndian: boolean;
  fortran: boolean;
  shape: number[];
  dataAt: number;
}

function readHeader(bytes: Uint8Array, name: string): Header {
  if (bytes.length < 10 || MAGIC.some((b, i) => bytes[i] !== b)) throw bad(name, "not a .npy file");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = bytes[6]! >= 2;
  const start = wide ? 12 : 10;
  if (bytes.length < start) throw bad(name, "the header is cut off");
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const text = new TextDecoder().decode(bytes.subarray(start, start + length));
  const descr = /'descr'\s*:\s*'([<>|=]?)([A-Za-z]\d+)'/.exec(text);
  const fortran = /'fortran_order'\s*:\s*(True|False)/.exec(text);
  const shape = /'shape'\s*:\s*\(([^)]*)\)/.exec(text);
  if (!descr || !fortran || !shape || start + length > bytes.length)
    throw bad(name, "the header is not understood");
  const sizes = shape[1]!
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map(Number);
  if (sizes.some((size) => !Number.isSafeInteger(size) || size < 0))
    throw bad(name, "the shape is not understood");
  return {
    type: descr[2]!,
    bigEndian: descr[1] === ">",
    fortran: fortran[1] === "True",
    shape: sizes,
    dataAt: start + length,
  };
}

/** Reverses the bytes of every item. */
function swap(bytes: Uint8Array, itemBytes: number): void {
  for (let at = 0; at + itemBytes <= bytes.length; at += itemBytes)
    bytes.subarray(at, at + itemBytes).reverse();
}

/** Elements in column-major order to row-major order, or back when `toFortran`. */
function reorder(
  bytes: Uint8Array,
  shape: readonly number[],
  itemBytes: number,
  toFortran: boolean,
): Uint8Array {
  const out = new Uint8Array(bytes.length);
  const count = bytes.length / itemBytes;
  const position = shape.map(() => 0);
  for (let row = 0; row < count; row++) {
    let column = 0;
    for (let d = shape.length - 1; d >= 0; d--) column = column * shape[d]! + position[d]!;
    const [from, to] = toFortran ? [row, column] : [column, row];
    out.set(bytes.subarray(from * itemBytes, (from + 1) * itemBytes), to * itemBytes);
    for (let d = shape.length - 1; d >= 0; d--) {
      if (++position[d]! < shape[d]!) break;
      position[d] = 0;
    }
  }
  return out;
}

/** Reads an array. `declared` decides what raw two-byte items (V2) are. */
export function readNpy(bytes: Uint8Array, name: string, declared?: DType): Tensor {
  const header = readHeader(bytes, name);
  const itemBytes = Number(header.type.slice(1));
  const matches = (Object.entries(DESCRIPTORS) as [DType, string][]).filter(
    ([, d]) => d.slice(1) === header.type,
  );
  const dtype = matches.find(([known]) => known === declared)?.[0] ?? matches[0]?.[0];
  if (!dtype) throw bad(name, `elements of type '${header.type}' are not supported`);
  const count = header.shape.reduce((product, size) => product * size, 1);
  if (bytes.length - header.dataAt < count * itemBytes) throw bad(name, "the data is cut off");
  let data: Uint8Array = new Uint8Array(
    bytes.subarray(header.dataAt, header.dataAt + count * itemBytes),
  );
  if (header.bigEndian) swap(data, dtype.startsWith("complex") ? itemBytes / 2 : itemBytes);
  if (header.fortran && header.shape.length > 1)
    data = reorder(data, header.shape, itemBytes, false);
  return tensorOf(dtype, header.shape, data);
}

function isColumnMajor(t: Tensor): boolean {
  const rank = t.shape.length;
  return (
    rank > 1 && t.dimOrder?.length === rank && t.dimOrder.every((dim, i) => dim === rank - 1 - i)
  );
}

function withHeader(
  descr: string,
  fortran: boolean,
  shape: readonly number[],
  data: Uint8Array,
): Uint8Array {
  const sizes = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const text = `{'descr': '${descr}', 'fortran_order': ${fortran ? "True" : "False"}, 'shape': ${sizes}, }`;
  const total = Math.ceil((10 + text.length + 1) / 64) * 64;
  const out = new Uint8Array(total + data.length).fill(32, 10, total);
  out.set(MAGIC);
  out.set([1, 0, (total - 10) & 255, (total - 10) >> 8], 6);
  out.set(new TextEncoder().encode(text), 10);
  out[total - 1] = 10;
  out.set(data, total);
  return out;
}

/** Writes a tensor; column-major when the program declares that layout, else row-major. */
export function writeNpy(t: Tensor): Uint8Array {
  const descr = DESCRIPTORS[t.dtype];
  if (!descr)
    throw new SconceError("dtype", `${t.dtype} has no .npy form`, "Cast the output in the model.");
  const bytes = new Uint8Array(t.data.buffer as ArrayBuffer, t.data.byteOffset, t.data.byteLength);
  if (!isColumnMajor(t)) return withHeader(descr, false, t.shape, bytes);
  return withHeader(descr, true, t.shape, reorder(bytes, t.shape, Number(descr.slice(2)), true));
}

/** Text as a zero-dimensional array of UCS-4. */
export function writeNpyText(text: string): Uint8Array {
  const points = Uint32Array.from([...text], (c) => c.codePointAt(0)!);
  return withHeader(`<U${points.length}`, false, [], new Uint8Array(points.buffer));
}
