// Archives as zip tools leave them, made of the recorded models.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { crc32, deflateRawSync } from "node:zlib";
import { modelPath } from "./reference.js";

export interface Entry {
  name: Buffer;
  crc: number;
  method: number;
  /** Bytes once inflated, as the archive claims. */
  size: number;
  /** As they lie in the archive. */
  data: Buffer;
}

/** The entries of an archive of stored entries without zip64. */
export function readZip(bytes: Buffer): Entry[] {
  const end = bytes.lastIndexOf(Buffer.from("PK\x05\x06"));
  let at = bytes.readUInt32LE(end + 16);
  return Array.from({ length: bytes.readUInt16LE(end + 10) }, () => {
    const [nameBytes, extraBytes] = [bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30)];
    const local = bytes.readUInt32LE(at + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const size = bytes.readUInt32LE(at + 24);
    const entry = {
      name: bytes.subarray(at + 46, at + 46 + nameBytes),
      crc: bytes.readUInt32LE(at + 16),
      method: 0,
      size,
      data: bytes.subarray(start, start + size),
    };
    at += 46 + nameBytes + extraBytes + bytes.readUInt16LE(at + 32);
    return entry;
  });
}

/** The header before an entry's data, and the entry's row of the directory. */
function headers({ name, crc, method, size }: Entry, packed: number, offset: number): Buffer[][] {
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(method, 4);
  common.writeUInt32LE(crc, 10);
  common.writeUInt32LE(packed, 14);
  common.writeUInt32LE(size, 18);
  common.writeUInt16LE(name.length, 22);
  const tail = Buffer.alloc(14);
  tail.writeUInt32LE(offset, 10);
  return [
    [Buffer.from("PK\x03\x04"), common, name],
    [Buffer.from("PK\x01\x02\x14\0"), common, tail, name],
  ];
}

/** An archive piece by piece: `repeated` says how often the data of an entry follows itself. */
export function* zipParts(
  entries: readonly Entry[],
  repeated: (entry: Entry) => number = () => 1,
): Generator<Buffer> {
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const packed = entry.data.length * repeated(entry);
    const [local, listed] = headers(entry, packed, offset);
    central.push(...listed!);
    yield* local!;
    for (let i = 0; i < repeated(entry); i++) yield entry.data;
    offset += 30 + entry.name.length + packed;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  yield directory;
  yield end;
}

export function writeZip(entries: readonly Entry[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat([...zipParts(entries)]));
}

/** A model with the text of its graphs changed by `edit`. */
export function edited(name: string, edit: (text: string) => string): Uint8Array<ArrayBuffer> {
  const entries = readZip(readFileSync(modelPath(name)));
  return writeZip(
    entries.map((entry) => {
      if (!/models\/\w+\.json$/.test(entry.name.toString())) return entry;
      const data = Buffer.from(edit(entry.data.toString()));
      return { ...entry, data, size: data.length, crc: crc32(data) };
    }),
  );
}

/** The entries of the model of one linear layer, with biases of zero. */
function linearEntries(rows: number, columns: number, weights: Buffer): Entry[] {
  const sizes = new Map([
    ["8", rows],
    ["16", columns],
  ]);
  return readZip(readFileSync(modelPath("linear.pt2"))).map((entry) => {
    const name = entry.name.toString();
    let { data } = entry;
    if (name.endsWith(".json")) {
      const text = data.toString();
      data = Buffer.from(
        text.replace(/"as_int": (\d+)/g, (_, n: string) => `"as_int": ${sizes.get(n) ?? n}`),
      );
    } else if (name.endsWith("weight_0")) data = weights;
    else if (name.endsWith("weight_1")) data = Buffer.alloc(4 * rows);
    return { ...entry, data, size: data.length, crc: crc32(data) };
  });
}

/** The model of one linear layer with these weights, and biases of zero. */
export function linearOf(weights: Float32Array, columns: number): Uint8Array<ArrayBuffer> {
  const rows = weights.length / columns;
  return writeZip(linearEntries(rows, columns, Buffer.from(weights.buffer)));
}

/** The same in a file, with a weight that is never in memory: these rows, so many times. */
export function writeLinear(
  path: string,
  block: Float32Array,
  columns: number,
  times: number,
): void {
  const isWeight = ({ name }: Entry): boolean => name.toString().endsWith("weight_0");
  const bytes = Buffer.from(block.buffer);
  const entries = linearEntries((block.length / columns) * times, columns, bytes).map((entry) => {
    if (!isWeight(entry)) return entry;
    const crc = Array.from({ length: times }).reduce((sum: number) => crc32(bytes, sum), 0);
    return { ...entry, size: bytes.length * times, crc };
  });
  const fd = openSync(path, "w");
  try {
    for (const part of zipParts(entries, (entry) => (isWeight(entry) ? times : 1)))
      writeSync(fd, part);
  } finally {
    closeSync(fd);
  }
}

/** The model's twin, each entry deflated and then changed by `edit`, and `more` entries. */
export function deflated(
  name: string,
  edit = (entry: Entry): Entry => entry,
  more: readonly Entry[] = [],
): Uint8Array<ArrayBuffer> {
  const entries = readZip(readFileSync(modelPath(name)));
  const packed = entries.map((entry) =>
    edit({ ...entry, method: 8, data: deflateRawSync(entry.data) }),
  );
  return writeZip([...packed, ...more]);
}

/** A recorded model without the inputs that it was exported with. */
export function withoutExamples(model: string): Uint8Array<ArrayBuffer> {
  const entries = readZip(readFileSync(modelPath(`${model}.pt2`)));
  return writeZip(entries.filter(({ name }) => !name.includes("/data/sample_inputs/")));
}
